/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a file with a path, in memory: a fuzzer that writes to a disk does little else. */
#ifndef RIDGE_TESTS_FUZZ_FILE_H
#define RIDGE_TESTS_FUZZ_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Its descriptor, to be closed, and its path. */
static inline int
file_of(const uint8_t *data, size_t size, char path[40])
{
	const int fd = memfd_create("fuzz", 0);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
		perror("a file in memory");
		abort();
	}
	snprintf(path, 40, "/proc/self/fd/%d", fd);
	return fd;
}

#endif
