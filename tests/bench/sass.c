/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sass CUBIN: the loops of every kernel, a line each: the kernel, the instructions of the loop, and how many of them
 * are of the operations below, as OPERATION=COUNT.  Instructions from Volta on have 16 bytes with the operation in the
 * low 9 bits.  A branch has its distance in bytes from bit 32 on; since Hopper in words of 4 bytes, of which the low 8
 * bits are in bits 16 to 23 and the others from 34 on (found by comparing code of each target with its source).
 */
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	unsigned code;
} operations[] = {{"FADD", 0x021}, {"FFMA", 0x023}, {"HFMA2", 0x031}, {"DFMA", 0x02b}, {"HMMA", 0x03c}, {"IMMA", 0x037},
    {"DMMA", 0x03f}, {"QMMA", 0x07a}, {"HGMMA", 0x1f0}, {"QGMMA", 0x1f3}, {"LDG", 0x181}, {"STG", 0x186},
    {"LDS", 0x184}, {"STS", 0x188}};
enum { N_OPERATIONS = sizeof operations / sizeof *operations, BRANCH = 0x147, HOPPER = 90 };

/* One kernel. */
struct code {
	const char *name;
	const uint64_t *words; /* two for each instruction */
	long n;
	int target; /* 90 for sm_90a */
};

static unsigned
operation(const struct code *c, long i)
{
	return c->words[2 * i] & 0x1ff;
}

/* The instruction that a branch leads to. */
static long
branch_target(const struct code *c, long i)
{
	const uint64_t low = c->words[2 * i], high = c->words[2 * i + 1];

	if (c->target < HOPPER)
		return i + 1 + (int32_t)(low >> 32) / 16;
	const uint64_t distance = ((low >> 34 | (high & 0x3ffff) << 30) << 8) | (low >> 16 & 0xff);
	return i + 1 + (long)(((int64_t)(distance << 8) >> 8) / 4);
}

static void
print_loop(const struct code *c, long start, long end)
{
	printf("%s %ld", c->name, end - start + 1);
	for (int k = 0; k < N_OPERATIONS; k++) {
		int n = 0;
		for (long i = start; i <= end; i++)
			n += operation(c, i) == operations[k].code;
		if (n)
			printf(" %s=%d", operations[k].name, n);
	}
	putchar('\n');
}

/* A branch to itself fills the end of a kernel. */
static void
print_loops(const struct code *c)
{
	for (long i = 0; i < c->n; i++) {
		const long start = operation(c, i) == BRANCH ? branch_target(c, i) : i;
		if (start >= 0 && start < i)
			print_loop(c, start, i);
	}
}

/* As the flags of the file say: in the second byte since the eighth version of the format, before in the first. */
static int
target_of(const Elf64_Ehdr *head)
{
	return (int)(head->e_ident[EI_ABIVERSION] >= 8 ? head->e_flags >> 8 & 0xff : head->e_flags & 0xff);
}

int
main(int argc, char **argv)
{
	FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
	static uint64_t text[1 << 20];
	const size_t n = file ? fread(text, 1, sizeof text, file) : 0;
	const char *const at = (const char *)text;
	const Elf64_Ehdr *const head = (const Elf64_Ehdr *)(const void *)at;

	if (n < sizeof *head || memcmp(at, ELFMAG, SELFMAG) != 0)
		return EXIT_FAILURE;
	const Elf64_Shdr *const sections = (const Elf64_Shdr *)(const void *)(at + head->e_shoff);
	for (int s = 0; s < head->e_shnum; s++) {
		const char *const name = at + sections[head->e_shstrndx].sh_offset + sections[s].sh_name;
		const struct code c = {name + 6, (const uint64_t *)(const void *)(at + sections[s].sh_offset),
		    (long)(sections[s].sh_size / 16), target_of(head)};
		if (strncmp(name, ".text.", 6) == 0)
			print_loops(&c);
	}
	fclose(file);
	return EXIT_SUCCESS;
}
