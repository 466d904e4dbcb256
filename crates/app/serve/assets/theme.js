"use strict";
// The theme of the server's own pages; reports keep the choice under the same name.
(() => {
  const root = document.documentElement, name = "wirespeed-theme";
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const asked = /theme=(dark|light)/.exec(location.hash + location.search);
  const theme = asked ? asked[1] : sessionStorage.getItem(name);
  if (theme === "dark" || theme === "light") root.dataset.theme = theme;
  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const nameTheme = () => { button.textContent = isDark() ? "Light" : "Dark"; };
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      sessionStorage.setItem(name, root.dataset.theme);
      nameTheme();
    });
    system.addEventListener("change", nameTheme);
    nameTheme();
  });
})();
