/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Products of more than 64 bits. BPF divides 64 bits by 64, no more. The loops have no branches but their own: the kernel's
 * verifier follows every combination of ways through a program, and a branch in each of 32 turns makes that 2^32.
 */
#pragma once

#include "control.h"

/* All ones if `a` is below `b`, else zero; both below 2^63. The compiler is kept from making a branch of it. */
static inline u64 if_below(u64 a, u64 b)
{
	u64 mask = (u64)((s64)(a - b) >> 63);

	asm volatile("" : "+r"(mask));
	return mask;
}

/* The last bit of `value` for every bit. */
static inline u64 if_odd(u64 value)
{
	u64 mask = -(value & 1);

	asm volatile("" : "+r"(mask));
	return mask;
}

/*
 * floor(a b / c), exact, for c below 3 10^18 and a below 2^32, as long as the result fits: long division, a bit of `a` at a
 * time.
 */
static inline u64 mul_div(u32 a, u64 b, u64 c)
{
	u64 quotient = 0, rest = 0, part;
	int bit;

	if (!c)
		return 0;
	part = b % c;
	for (bit = 31; bit >= 0; bit--) {
		u64 below;

		/* Twice the rest is below 2 c, and with the part below 3 c: c may have to be taken off twice. */
		rest = 2 * rest + (part & if_odd(a >> bit));
		quotient *= 2;
		below = if_below(rest, c);
		rest -= c & ~below;
		quotient += 1 + below;
		below = if_below(rest, c);
		rest -= c & ~below;
		quotient += 1 + below;
	}
	return a * (b / c) + quotient;
}

/* a b as 2^32 high + low. */
struct wide {
	u64 high;
	u32 low;
};

static inline struct wide times(u64 a, u32 b)
{
	u64 low = (a & 0xffffffffU) * b;
	struct wide product = { .high = (a >> 32) * b + (low >> 32), .low = low };

	return product;
}

/* The largest number below 2^31 whose cube is at most a b, for a below 2^62 and b below 2^31. */
static inline u32 cube_root(u64 a, u32 b)
{
	struct wide limit = times(a, b);
	u32 root = 0;
	int bit;

	for (bit = 30; bit >= 0; bit--) {
		u32 candidate = root | 1U << bit;
		struct wide cube = times((u64)candidate * candidate, candidate);
		u64 borrow = if_below(limit.low, cube.low) & 1;

		root |= ~if_below(limit.high, cube.high + borrow) & 1U << bit;
	}
	return root;
}
