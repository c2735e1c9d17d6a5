# SPDX-License-Identifier: GPL-3.0-or-later
# Fuzzers.  `make check` replays their seeds; `make fuzz` searches with clang's libFuzzer, FUZZ_TIME seconds each (FUZZERS=name
# searches with one).  Seeds are small files of tests/fuzz/seeds; shipped files and the examples of the commands are seeds too.

FUZZERS   := yaml json formula units arguments table hub measurement trace database program
FUZZ_TIME ?= 30
FUZZ_CC   ?= clang
REPLAYS   := $(FUZZERS:%=$(BUILD)/tests/replay-%)
FUZZ_OPT   = -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

$(REPLAYS): $(BUILD)/tests/replay-%: $(BUILD)/obj/tests/fuzz/%.o $(BUILD)/obj/tests/fuzz/replay.o $(TEST_OBJ)
	@mkdir -p $(dir $@)
	@$(if $(Q),echo "  LD      $@")
	$(Q)$(LINK) -o $@ $^ $(PKG_LIBS) -lm

$(FUZZERS:%=$(BUILD)/tests/fuzz-%): $(BUILD)/tests/fuzz-%: $(BUILD)/obj/tests/fuzz/%.o $(TEST_OBJ)
	@mkdir -p $(dir $@)
	@$(if $(Q),echo "  LD      $@")
	$(Q)$(CC) $(OPT) -fsanitize=fuzzer -o $@ $^ $(PKG_LIBS) -lm

# The examples of every command, one file each, one word a line.
$(BUILD)/tests/examples: $(BUILD)/ridge tests/fuzz/examples.sh
	@sh tests/fuzz/examples.sh $(BUILD)/ridge $@

.PHONY: fuzz fuzz-run

fuzz:
	@command -v $(FUZZ_CC) >/dev/null || { echo "make fuzz needs clang with libFuzzer"; exit 1; }
	@$(MAKE) --no-print-directory BUILD=$(BUILD)-fuzz CC=$(FUZZ_CC) OPT="$(FUZZ_OPT)" fuzz-run

fuzz-run: $(FUZZERS:%=$(BUILD)/tests/fuzz-%) $(BUILD)/tests/examples
	@for f in $(FUZZERS); do \
		mkdir -p $(BUILD)/corpus/$$f && echo "== $$f, $(FUZZ_TIME) s" && \
		$(BUILD)/tests/fuzz-$$f -max_total_time=$(FUZZ_TIME) -timeout=60 -rss_limit_mb=2000 -max_len=20000 -verbosity=0 -print_final_stats=1 -close_fd_mask=3 \
			-artifact_prefix=$(BUILD)/corpus/ $$(test -f tests/fuzz/seeds/$$f.dict && echo -dict=tests/fuzz/seeds/$$f.dict) \
			$(BUILD)/corpus/$$f tests/fuzz/seeds/$$f $$(sh tests/fuzz/seeds.sh $$f $(BUILD)) || exit 1; done

-include $(FUZZERS:%=$(BUILD)/obj/tests/fuzz/%.d) $(BUILD)/obj/tests/fuzz/replay.d
