/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The wide arithmetic, for tests to call. */
#include "wide.h"

u64 native_mul_div(u32 a, u64 b, u64 c)
{
	return mul_div(a, b, c);
}

u32 native_cube_root(u64 a, u32 b)
{
	return cube_root(a, b);
}
