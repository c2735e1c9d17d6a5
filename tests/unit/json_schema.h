/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A validator for the part of JSON Schema (draft 2020-12) that man/ridge.schema.json uses.  A keyword that it does not
 * know is a fault of the schema: nothing in it goes unchecked.
 */
#ifndef RIDGE_TESTS_JSON_SCHEMA_H
#define RIDGE_TESTS_JSON_SCHEMA_H

#include "base/base.h"

#include <cJSON.h>
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct json_fault {
	char text[400];
};

static bool json_valid(
    const cJSON *root, const cJSON *schema, const cJSON *value, const char *path, struct json_fault *fault);

static inline bool
json_fail(struct json_fault *fault, const char *path, const char *what, const char *detail)
{
	snprintf(fault->text, sizeof fault->text, "%.200s: %s %.100s", path, what, detail);
	return false;
}

static inline bool
json_has_type(const cJSON *v, const char *type)
{
	return (strcmp(type, "object") == 0 && cJSON_IsObject(v)) || (strcmp(type, "array") == 0 && cJSON_IsArray(v)) ||
	    (strcmp(type, "string") == 0 && cJSON_IsString(v)) || (strcmp(type, "number") == 0 && cJSON_IsNumber(v)) ||
	    (strcmp(type, "boolean") == 0 && cJSON_IsBool(v)) || (strcmp(type, "null") == 0 && cJSON_IsNull(v)) ||
	    (strcmp(type, "integer") == 0 && cJSON_IsNumber(v) && v->valuedouble == floor(v->valuedouble));
}

static inline bool
json_type_allowed(const cJSON *type, const cJSON *v)
{
	const cJSON *one;

	if (cJSON_IsString(type))
		return json_has_type(v, type->valuestring);
	cJSON_ArrayForEach(one, type) if (json_has_type(v, one->valuestring)) return true;
	return false;
}

/* `#/$defs/name` */
static inline const cJSON *
json_refer(const cJSON *root, const char *ref)
{
	static const char begin[] = "#/$defs/";

	if (strncmp(ref, begin, sizeof begin - 1) != 0)
		return NULL;
	return cJSON_GetObjectItemCaseSensitive(
	    cJSON_GetObjectItemCaseSensitive(root, "$defs"), ref + sizeof begin - 1);
}

static inline bool
json_members_valid(const cJSON *root, const cJSON *schema, const cJSON *v, const char *path, struct json_fault *fault)
{
	const cJSON *properties = cJSON_GetObjectItemCaseSensitive(schema, "properties");
	const cJSON *others = cJSON_GetObjectItemCaseSensitive(schema, "additionalProperties");
	const cJSON *member;
	char below[300];

	cJSON_ArrayForEach(member, v)
	{
		for (const cJSON *twin = member->next; twin; twin = twin->next)
			if (strcmp(twin->string, member->string) == 0)
				return json_fail(fault, path, "the key stands twice:", member->string);
		const cJSON *rule = properties ? cJSON_GetObjectItemCaseSensitive(properties, member->string) : NULL;
		if (!rule && others && cJSON_IsFalse(others))
			return json_fail(fault, path, "unknown key:", member->string);
		if (!rule)
			rule = others;
		snprintf(below, sizeof below, "%.150s.%.100s", path, member->string);
		if (rule && cJSON_IsObject(rule) && !json_valid(root, rule, member, below, fault))
			return false;
	}
	return true;
}

static inline bool
json_one_of(const cJSON *root, const cJSON *choices, const cJSON *v, const char *path, struct json_fault *fault)
{
	struct json_fault first = {""}, this;
	const cJSON *one;
	int n = 0;

	cJSON_ArrayForEach(one, choices)
	{
		if (json_valid(root, one, v, path, &this))
			n++;
		else if (!first.text[0] ||
		    strstr(first.text, "lacks the key")) /* the form that was meant has the keys */
			first = this;
	}
	if (n == 1)
		return true;
	if (n == 0)
		*fault = first;
	return n ? json_fail(fault, path, "matches more than one form", "") : false;
}

static inline bool
json_keyword(const cJSON *root, const cJSON *schema, const cJSON *rule, const cJSON *v, const char *path,
    struct json_fault *fault)
{
	static const char *const silent[] = {"$schema", "$id", "$defs", "title", "description", "properties"};
	const char *word = rule->string;
	const cJSON *one;
	char below[300];
	int i = 0;

	for (size_t k = 0; k < sizeof silent / sizeof *silent; k++)
		if (strcmp(word, silent[k]) == 0)
			return true;
	if (strcmp(word, "$ref") == 0) {
		const cJSON *to = json_refer(root, rule->valuestring);
		return to ? json_valid(root, to, v, path, fault)
		          : json_fail(fault, path, "the schema refers to nothing:", rule->valuestring);
	}
	if (strcmp(word, "oneOf") == 0)
		return json_one_of(root, rule, v, path, fault);
	if (strcmp(word, "type") == 0)
		return json_type_allowed(rule, v) || json_fail(fault, path, "wrong type", "");
	if (strcmp(word, "required") == 0) {
		cJSON_ArrayForEach(one, rule) if (cJSON_IsObject(v) &&
		    !cJSON_GetObjectItemCaseSensitive(v, one->valuestring)) return json_fail(fault, path,
		    "lacks the key", one->valuestring);
		return true;
	}
	if (strcmp(word, "additionalProperties") == 0)
		return !cJSON_IsObject(v) || json_members_valid(root, schema, v, path, fault);
	if (strcmp(word, "items") == 0) {
		if (!cJSON_IsArray(v))
			return true;
		cJSON_ArrayForEach(one, v)
		{
			snprintf(below, sizeof below, "%.200s.%d", path, i++);
			if (!json_valid(root, rule, one, below, fault))
				return false;
		}
		return true;
	}
	if (strcmp(word, "minItems") == 0)
		return !cJSON_IsArray(v) || cJSON_GetArraySize(v) >= rule->valueint ||
		    json_fail(fault, path, "too few items", "");
	if (strcmp(word, "minLength") == 0)
		return !cJSON_IsString(v) || (int)strlen(v->valuestring) >= rule->valueint ||
		    json_fail(fault, path, "is too short", "");
	if (strcmp(word, "minimum") == 0)
		return !cJSON_IsNumber(v) || v->valuedouble >= rule->valuedouble ||
		    json_fail(fault, path, "is too small", "");
	if (strcmp(word, "maximum") == 0)
		return !cJSON_IsNumber(v) || v->valuedouble <= rule->valuedouble ||
		    json_fail(fault, path, "is too large", "");
	return json_fail(fault, path, "the schema has a keyword that is not checked:", word);
}

static bool
json_valid(const cJSON *root, const cJSON *schema, const cJSON *value, const char *path, struct json_fault *fault)
{
	const cJSON *rule;

	cJSON_ArrayForEach(rule, schema) if (!json_keyword(root, schema, rule, value, path, fault)) return false;
	return true;
}

/* The schema as it is installed, in the build folder of this program. */
static inline cJSON *
json_schema(struct arena *a)
{
	char self[1000];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	self[n > 0 ? n : 0] = '\0';
	*strrchr(self, '/') = '\0';
	const char *path = arena_printf(a, "%s/../man/ridge.schema.json", self);
	FILE *file = fopen(path, "rb");
	char *text = NULL;
	size_t size = 0;
	ck_assert_msg(file, "cannot read %s", path);
	ck_assert_int_gt(getdelim(&text, &size, '\0', file), 0);
	fclose(file);
	cJSON *schema = cJSON_Parse(text);
	ck_assert_msg(schema, "%s is not JSON", path);
	free(text);
	return schema;
}

static inline bool
json_text_valid(const cJSON *schema, const char *text, struct json_fault *fault)
{
	cJSON *value = cJSON_ParseWithOpts(text, NULL, 1);

	if (!value) {
		snprintf(fault->text, sizeof fault->text, "not JSON");
		return false;
	}
	const bool ok = json_valid(schema, schema, value, "", fault);
	cJSON_Delete(value);
	return ok;
}

#endif
