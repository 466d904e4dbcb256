//! The functions that the module exports, and those that it imports. Texts are UTF-8 in the module's memory.
//!
//! A caller puts a text into memory of [`allocate`], and passes its address and length. The address and the length of the result
//! are in one number: address x 2^32 + length. [`release`] gives memory back.

use std::panic::PanicHookInfo;
use wirespeed_sim::Progress;
use wirespeed_units::Span;

#[link(wasm_import_module = "playground")]
unsafe extern "C" {
    /// A run has reached this time, and delivered so many bytes. Zero stops it.
    fn watch(reached_ns: f64, delivered_bytes: f64) -> i32;
    /// The module ends with this message, because of a mistake in the program.
    fn failed(address: *const u8, length: usize);
}

/// Memory for so many bytes.
#[unsafe(no_mangle)]
extern "C" fn allocate(length: usize) -> *mut u8 {
    std::panic::set_hook(Box::new(report));
    Box::into_raw(vec![0_u8; length].into_boxed_slice()).cast()
}

/// Gives memory back.
///
/// # Safety
/// It is that of [`allocate`] or of a result, with its whole length. It is not used afterwards.
#[unsafe(no_mangle)]
unsafe extern "C" fn release(address: *mut u8, length: usize) {
    // SAFETY: a boxed slice of that length was made into this address.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(address, length)) });
}

/// [`crate::choices`].
#[unsafe(no_mangle)]
extern "C" fn choices() -> u64 {
    result(crate::choices())
}

/// [`crate::answer`] to a text.
///
/// # Safety
/// At the address are so many bytes of [`allocate`].
#[unsafe(no_mangle)]
unsafe extern "C" fn answer(address: *const u8, length: usize) -> u64 {
    // SAFETY: as this function asks.
    let text = unsafe { text(address, length) };
    // SAFETY: it takes two numbers and returns one.
    let mut go_on = |Progress { reached, delivered_bytes }: Progress| unsafe {
        watch(reached.nanoseconds() as f64, delivered_bytes as f64) != 0
    };
    result(crate::answer(&text, &mut go_on))
}

/// [`crate::tables`] of a text.
///
/// # Safety
/// As of [`answer`].
#[unsafe(no_mangle)]
unsafe extern "C" fn tables(address: *const u8, length: usize, longest_ms: u32) -> u64 {
    // SAFETY: as this function asks.
    let text = unsafe { text(address, length) };
    result(crate::tables(&text, Span::ms(i64::from(longest_ms))))
}

unsafe fn text(address: *const u8, length: usize) -> String {
    // SAFETY: the callers ask for it.
    let bytes = unsafe { std::slice::from_raw_parts(address, length) };
    String::from_utf8_lossy(bytes).into_owned()
}

fn result(text: String) -> u64 {
    let bytes = text.into_bytes().into_boxed_slice();
    let length = bytes.len() as u64;
    let address = Box::into_raw(bytes).cast::<u8>() as usize as u64;
    address << 32 | length
}

fn report(info: &PanicHookInfo<'_>) {
    let message = info.to_string();
    // SAFETY: it reads the message, which outlives the call.
    unsafe { failed(message.as_ptr(), message.len()) }
}
