/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sass CUBIN: the loops of every kernel, a line each: instructions in all, then FADD, FFMA, HFMA2, DFMA, HMMA, IMMA,
 * DMMA, HGMMA or QGMMA.  Instructions from Volta on have 16 bytes with the operation in the low 12 bits; a branch has
 * its distance, in words of 4 bytes, in bits 16 to 23 and from 34 on (found by comparing sm_90a code with its loops).
 */
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const unsigned counted[] = {0x221, 0x223, 0x231, 0x22b, 0x23c, 0x237, 0x23f, 0x9f3};
enum { N_COUNTED = sizeof counted / sizeof *counted, BRANCH = 0x947 };

static long
target_of(const uint64_t *code, long i)
{
	const uint64_t low = code[2 * i], high = code[2 * i + 1];
	const uint64_t distance = ((low >> 34 | (high & 0x3ffff) << 30) << 8) | (low >> 16 & 0xff);
	const int64_t words = (int64_t)(distance << 8) >> 8;

	return i + 1 + (long)(words / 4);
}

static void
loops_of(const uint64_t *code, long n)
{
	for (long i = 0; i < n; i++) {
		const long start = (code[2 * i] & 0xfff) == BRANCH ? target_of(code, i) : i;
		if (start < 0 || start >= i)
			continue;
		printf("%ld", i - start + 1);
		for (int k = 0; k < N_COUNTED; k++) {
			int found = 0;
			for (long j = start; j <= i; j++)
				found += (code[2 * j] & 0xfff) == counted[k];
			printf(" %d", found);
		}
		putchar('\n');
	}
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
		if (strncmp(name, ".text.", 6) == 0)
			loops_of((const uint64_t *)(const void *)(at + sections[s].sh_offset),
			    (long)(sections[s].sh_size / 16));
	}
	fclose(file);
	return EXIT_SUCCESS;
}
