# SPDX-License-Identifier: GPL-3.0-or-later
# ridge: wildcards are the lists.  `make` builds, `make demo` and `make test` install what is missing first.

VERSION  = 0.1.0
PREFIX   ?= /usr/local
BUILD    ?= build
CC       ?= cc
V        ?= 0
PKGS      = gsl yaml-0.1 libcjson

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:

Q := $(if $(filter 1,$(V)),,@)

PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PKG_LIBS   := $(shell pkg-config --libs $(PKGS) 2>/dev/null)

WARN    = -Wall -Wextra -Wshadow -Wpedantic -Wconversion -Wstrict-prototypes -Wmissing-prototypes
WERROR ?= $(if $(CI),-Werror,)
OPT    ?= -O2 -g1 -flto=auto
ALL_CFLAGS = -std=c11 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -ffp-contract=off -fPIC -fvisibility=hidden $(OPT) $(WARN) $(WERROR) \
	-Iinclude -Isrc -I$(BUILD)/gen $(PKG_CFLAGS) $(CFLAGS)
PATHS = -DRIDGE_VERSION='"$(VERSION)"' -DRIDGE_DATA_DIRECTORY='"$(PREFIX)/share/ridge"' -DRIDGE_MAN_DIRECTORY='"$(PREFIX)/share/man"'
LINK   = $(CC) $(OPT) $(LDFLAGS)

# The library is everything below the command line; the program is a client of it.
LIB_SRC  := $(wildcard src/base/*.c src/data/*.c src/model/*.c src/engine/*.c src/report/*.c)
CLI_SRC  := $(wildcard src/cli/*.c src/cmd/*.c)
LIB_OBJ  := $(LIB_SRC:src/%.c=$(BUILD)/obj/%.o)
CLI_OBJ  := $(CLI_SRC:src/%.c=$(BUILD)/obj/%.o)
HEADERS  := $(wildcard include/ridge/*.h include/ridge/*.def)
COMMANDS ?= $(sort $(patsubst src/cmd/%.c,%,$(wildcard src/cmd/*.c)))
DATA     := $(wildcard hwdb/*/*.yaml workloads/*/*.yaml)
MAN_SRC  := $(wildcard man/*.[157])
MAN      := $(MAN_SRC:man/%=$(BUILD)/man/%)

.PHONY: all demo test check check-asan lint format dist install uninstall bench-speed clean deps
all: $(BUILD)/ridge $(BUILD)/libridge.a $(BUILD)/libridge.so $(BUILD)/ridge.pc man

# --- generated ---------------------------------------------------------------------------------------------------------

# Rewritten only when the list changes, so that nothing else is rebuilt.
define keep
@mkdir -p $(dir $@)
@cmp -s $@.new $@ || mv $@.new $@
@rm -f $@.new
endef

$(BUILD)/gen/commands.h: FORCE
	@mkdir -p $(dir $@)
	@for c in $(COMMANDS); do echo "COMMAND($$c)"; done | sed '/^COMMAND/!d' >$@.new
	$(keep)

# One row per alias; what a file says in `aliases:` is only repeated here as a hint, and checked when it is used.
$(BUILD)/gen/aliases.inc: $(DATA) src/aliases.sh
	@mkdir -p $(dir $@)
	@sh src/aliases.sh $(sort $(DATA)) >$@.new
	$(keep)

FORCE:

# --- compiled ----------------------------------------------------------------------------------------------------------

$(BUILD)/obj/%.o: src/%.c | $(BUILD)/gen/commands.h $(BUILD)/gen/aliases.inc
	@mkdir -p $(dir $@)
	@$(if $(Q),echo "  CC      $<")
	$(Q)$(CC) $(ALL_CFLAGS) $(PATHS) -MMD -MP -c $< -o $@

$(BUILD)/libridge.a: $(LIB_OBJ)
	@$(if $(Q),echo "  AR      $@")
	$(Q)rm -f $@ && $(if $(findstring gcc,$(shell $(CC) --version 2>/dev/null | head -n 1)),gcc-ar,ar) rcs $@ $^

$(BUILD)/libridge.so: $(LIB_OBJ)
	@$(if $(Q),echo "  LD      $@")
	$(Q)$(LINK) -shared -Wl,-soname,libridge.so.0 -o $@ $^ $(PKG_LIBS) -lm

$(BUILD)/ridge: $(BUILD)/obj/main.o $(CLI_OBJ) $(BUILD)/libridge.a
	@$(if $(Q),echo "  LD      $@")
	$(Q)$(LINK) -Wl,--as-needed -o $@ $^ $(PKG_LIBS) -lm

$(BUILD)/ridge.pc: ridge.pc.in Makefile
	@mkdir -p $(dir $@)
	@sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@PKGS@|$(PKGS)|' $< >$@

-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(BUILD)/obj/main.d

clean:
	rm -rf $(BUILD)
