/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strings: comparison without case and punctuation, nearest match, splitting, safe display. */
#include "base/base.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

void
text_fold(const char *name, char *buf, size_t size)
{
	size_t n = 0;

	for (; *name && n + 1 < size; name++)
		if (isalnum((unsigned char)*name))
			buf[n++] = (char)tolower((unsigned char)*name);
	buf[n] = '\0';
}

bool
text_same_folded(const char *a, const char *b)
{
	for (;;) {
		while (*a && !isalnum((unsigned char)*a))
			a++;
		while (*b && !isalnum((unsigned char)*b))
			b++;
		if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
			return false;
		if (!*a)
			return true;
		a++;
		b++;
	}
}

bool
text_lists(const char *list, const char *word)
{
	const size_t n = strlen(word);

	for (const char *p = list; p && (p = strstr(p, word)); p += n)
		if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
			return true;
	return false;
}

enum { LONGEST = 63 };

static int
least(int a, int b)
{
	return a < b ? a : b;
}

/* Damerau, CACM 7(3), 1964, in the restricted form (no edits inside a swapped pair). */
int
text_distance(const char *a, const char *b)
{
	const size_t n = strlen(a), m = strlen(b);
	int row[3][LONGEST + 1];

	if (n > LONGEST || m > LONGEST)
		return LONGEST;
	for (size_t j = 0; j <= m; j++)
		row[0][j] = (int)j;
	for (size_t i = 1; i <= n; i++) {
		int *now = row[i % 3], *before = row[(i - 1) % 3], *earlier = row[(i + 1) % 3];

		now[0] = (int)i;
		for (size_t j = 1; j <= m; j++) {
			const int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);

			now[j] = least(before[j - 1] + (x != y), 1 + least(before[j], now[j - 1]));
			if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
			    y == tolower((unsigned char)a[i - 2]))
				now[j] = least(now[j], earlier[j - 2] + 1);
		}
	}
	return row[n % 3][m];
}

const char *
text_nearest(const char *word, const char *const *candidates, size_t n)
{
	const char *best = NULL;
	const int length = (int)strlen(word);
	int best_distance = length / 3 + 2;

	for (size_t i = 0; i < n; i++) {
		int distance = text_distance(word, candidates[i]);

		/* a beginning comes first, and of those the shortest */
		if (length >= 3 && strncasecmp(candidates[i], word, strlen(word)) == 0)
			distance = 0;
		if (distance < best_distance || (distance == 0 && strlen(candidates[i]) < strlen(best))) {
			best_distance = distance;
			best = candidates[i];
		}
	}
	return best;
}

bool
text_ends(const char *text, const char *end)
{
	const size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

bool
text_begins(const char *text, const char *begin)
{
	return strncmp(text, begin, strlen(begin)) == 0;
}

char **
text_split(struct arena *a, const char *text, char separator, size_t *n)
{
	size_t count = 1;

	for (const char *p = text; *p; p++)
		count += *p == separator;
	char **pieces = ARENA_ARRAY(a, char *, count + 1);

	*n = 0;
	for (const char *p = text;; p++) {
		const char *end = strchr(p, separator);
		size_t length = end ? (size_t)(end - p) : strlen(p);

		while (length && isspace((unsigned char)*p)) {
			p++;
			length--;
		}
		while (length && isspace((unsigned char)p[length - 1]))
			length--;
		pieces[(*n)++] = arena_copy(a, p, length);
		if (!end)
			return pieces;
		p = end;
	}
}

bool
text_mentions(const char *text, const char *word)
{
	const size_t n = strlen(word);

	for (; text && *text; text++) {
		size_t k = 0;
		while (k < n && tolower((unsigned char)text[k]) == tolower((unsigned char)word[k]))
			k++;
		if (k == n)
			return true;
	}
	return false;
}

size_t
text_sequence(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;
	const size_t n = *b < 0x80 ? 1
	    : (*b & 0xe0) == 0xc0  ? 2
	    : (*b & 0xf0) == 0xe0  ? 3
	    : (*b & 0xf8) == 0xf0  ? 4
	                           : 0;

	for (size_t i = 1; i < n; i++)
		if ((b[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

/* Bytes at p that a terminal must not see: 1 or 2 of a control character (C0, DEL, C1), 1 of a broken sequence. */
static size_t
hidden_bytes(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;

	if (b[0] < 0x20 || b[0] == 0x7f || text_sequence(p) == 0)
		return 1;
	return b[0] == 0xc2 && b[1] < 0xa0 ? 2 : 0;
}

const char *
text_visible(struct arena *a, const char *text)
{
	static const char hex[] = "0123456789abcdef";
	size_t hidden = 0;

	for (const char *p = text; *p; p += hidden_bytes(p) ? hidden_bytes(p) : text_sequence(p))
		hidden += hidden_bytes(p);
	if (!hidden)
		return text;
	char *out = arena_take(a, strlen(text) + 3 * hidden + 1), *to = out;
	for (const char *p = text; *p;) {
		const size_t bytes = hidden_bytes(p), whole = bytes ? bytes : text_sequence(p);
		for (size_t i = 0; i < whole; i++, p++) {
			const unsigned char byte = (unsigned char)*p;
			if (bytes) {
				*to++ = '\\';
				*to++ = 'x';
				*to++ = hex[byte >> 4];
				*to++ = hex[byte & 15];
			} else
				*to++ = *p;
		}
	}
	return out;
}
