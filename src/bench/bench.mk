# SPDX-License-Identifier: Apache-2.0
# ridge-bench, a program of its own.  Its host part needs a C compiler, and takes OpenBLAS or BLIS where pkg-config
# finds one.  `make bench` adds what runs on GPUs, where nvcc is found, and says what is missing.

BENCH_SRC  := $(sort $(wildcard src/bench/*.c))
BENCH_OBJ  := $(BENCH_SRC:src/%.c=$(BUILD)/obj/%.o)
BENCH_BLAS ?= $(firstword $(foreach p,openblas blis,$(shell pkg-config --exists $(p) 2>/dev/null && echo $(p))))
BENCH_BLAS_CFLAGS := $(if $(BENCH_BLAS),-DBENCH_CBLAS='"$(BENCH_BLAS)"' $(shell pkg-config --cflags $(BENCH_BLAS)))
BENCH_BLAS_LIBS   := $(if $(BENCH_BLAS),$(shell pkg-config --libs $(BENCH_BLAS)))
# the loops of the benchmarks stay loops
BENCH_CFLAGS = -std=c11 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -O3 -g1 -ffp-contract=fast -fno-tree-loop-distribute-patterns \
	-pthread $(WARN) $(WERROR) $(BENCH_BLAS_CFLAGS) $(BENCH_EXTRA)
bench-host: $(BUILD)/ridge-bench
.PHONY: bench bench-host bench-missing

$(BENCH_OBJ): $(BUILD)/obj/%.o: src/%.c
	@mkdir -p $(dir $@)
	@$(if $(Q),echo "  CC      $<")
	$(Q)$(CC) $(BENCH_CFLAGS) -MMD -MP -c $< -o $@

# what the shared objects of GPU subjects call is exported
$(BUILD)/ridge-bench: $(BENCH_OBJ)
	@$(if $(Q),echo "  LD      $@")
	$(Q)$(CC) -O2 -pthread -rdynamic -Wl,--as-needed $(BENCH_EXTRA) $(LDFLAGS) -o $@ $^ $(BENCH_BLAS_LIBS) -ldl -lm

-include $(BENCH_OBJ:.o=.d)

# --- GPUs: shared objects that the program loads when it finds them ----------------------------------------------------

NVCC      ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
CUDA_HOME ?= $(patsubst %/bin/nvcc,%,$(NVCC))
# found in these folders of the toolkit, or of the system
cuda_file = $(firstword $(wildcard $(foreach d,$(CUDA_HOME)/include $(CUDA_HOME)/lib64 $(CUDA_HOME)/lib /usr/include /usr/lib/x86_64-linux-gnu \
	/usr/lib/aarch64-linux-gnu /usr/lib64,$(d)/$(1))))
HAS_LT   := $(and $(NVCC),$(call cuda_file,cublasLt.h),$(call cuda_file,libcublasLt.so))
HAS_NCCL := $(and $(NVCC),$(call cuda_file,nccl.h),$(call cuda_file,libnccl.so))
MPI_CFLAGS ?= $(shell pkg-config --cflags ompi-c 2>/dev/null || pkg-config --cflags mpich 2>/dev/null)
MPI_LIBS   ?= $(shell pkg-config --libs ompi-c 2>/dev/null || pkg-config --libs mpich 2>/dev/null)
HAS_MPI    := $(strip $(MPI_LIBS))

NVCC_TARGETS = $(shell sh src/bench/targets.sh $(NVCC))
NVCC_FLAGS = -std=c++17 -O2 -lineinfo $(if $(WERROR),-Werror all-warnings) -Wno-deprecated-gpu-targets \
	-Xcompiler -Wall,-Wextra,-fPIC,-fvisibility=hidden \
	$(NVCC_TARGETS) $(NVCC_EXTRA)
NCCL_SRC := $(wildcard src/bench/nccl_*.cu)
CUDA_SRC := $(filter-out $(NCCL_SRC),$(wildcard src/bench/*.cu))
CUDA_OBJ := $(CUDA_SRC:src/%.cu=$(BUILD)/obj/%.cu.o)
NCCL_OBJ := $(NCCL_SRC:src/%.cu=$(BUILD)/obj/%.cu.o) $(BUILD)/obj/bench/cuda_check.cu.o $(BUILD)/obj/bench/world.pic.o
BENCH_PLUGINS := $(BUILD)/ridge-bench-cuda.so $(BUILD)/ridge-bench-nccl.so
LIBEXEC = $(DESTDIR)$(PREFIX)/libexec/ridge
# a library of the toolkit is found again where it was
cuda_link = $(foreach d,$(sort $(dir $(call cuda_file,$(1)))),-L$(d) -Xlinker -rpath -Xlinker $(d))

bench: $(BUILD)/ridge-bench $(if $(HAS_LT),$(BUILD)/ridge-bench-cuda.so) $(if $(HAS_NCCL),$(BUILD)/ridge-bench-nccl.so) bench-missing

bench-missing:
	@$(if $(BENCH_BLAS),,echo "ridge-bench: no OpenBLAS or BLIS: products of the host run in a loop of its own; libopenblas-dev has it")
	@$(if $(NVCC),sh src/bench/targets.sh --said $(NVCC) $(NVCC_TARGETS),echo "ridge-bench: no nvcc: nothing for GPUs was built; install the CUDA toolkit, or say make bench NVCC=/path/to/nvcc")
	@$(if $(NVCC),$(if $(HAS_LT),,echo "ridge-bench: no cuBLASLt: nothing for GPUs was built; install libcublas-dev of the toolkit"))
	@$(if $(NVCC),$(if $(HAS_NCCL),,echo "ridge-bench: no NCCL: no collectives; install libnccl-dev"))
	@$(if $(HAS_NCCL),$(if $(HAS_MPI),,echo "ridge-bench: no MPI: collectives within one machine only; install libopenmpi-dev"))

# other targets than last time rebuild everything for GPUs
NVCC_STAMP := $(BUILD)/obj/bench/targets
.PHONY: bench-targets
$(NVCC_STAMP): bench-targets
	@mkdir -p $(dir $@)
	@echo '$(strip $(NVCC_TARGETS))' | cmp -s - $@ || echo '$(strip $(NVCC_TARGETS))' >$@

$(CUDA_OBJ) $(NCCL_SRC:src/%.cu=$(BUILD)/obj/%.cu.o): $(BUILD)/obj/%.cu.o: src/%.cu $(wildcard src/bench/*.h src/bench/*.def) $(NVCC_STAMP)
	@mkdir -p $(dir $@)
	@$(if $(Q),echo "  NVCC    $<")
	$(Q)$(NVCC) $(NVCC_FLAGS) $(if $(HAS_MPI),-DBENCH_MPI $(filter -I%,$(MPI_CFLAGS))) -c $< -o $@

$(BUILD)/obj/bench/world.pic.o: src/bench/world.c src/bench/world.h
	@mkdir -p $(dir $@)
	$(Q)$(CC) $(BENCH_CFLAGS) -fPIC -fvisibility=hidden -c $< -o $@

$(BUILD)/ridge-bench-cuda.so: $(CUDA_OBJ)
	@$(if $(Q),echo "  LD      $@")
	$(Q)$(NVCC) -shared $(NVCC_TARGETS) -cudart static -o $@ $^ $(call cuda_link,libcublasLt.so) -lcublasLt -ldl

$(BUILD)/ridge-bench-nccl.so: $(NCCL_OBJ)
	@$(if $(Q),echo "  LD      $@")
	$(Q)$(NVCC) -shared $(NVCC_TARGETS) -cudart static -o $@ $^ $(call cuda_link,libnccl.so) -lnccl \
		$(foreach f,$(MPI_LIBS),$(if $(filter -l% -L%,$(f)),$(f),-Xlinker $(patsubst -Wl$(comma)%,%,$(f))))

# --- tests: the same objects over GPUs that do nothing (tests/bench/gpus.c) -------------------------------------------

BENCH_FAKE := $(BUILD)/bench-fake
FAKE_GPUS  := $(BENCH_FAKE)/libnvidia-ml.so.1
bench-fake: $(if $(HAS_LT),$(if $(HAS_NCCL),$(addprefix $(BENCH_FAKE)/,ridge-bench ridge-bench-cuda.so ridge-bench-nccl.so)))
.PHONY: bench-fake

$(FAKE_GPUS): tests/bench/gpus.c
	@mkdir -p $(dir $@)
	$(Q)$(CC) -shared -fPIC -O1 -Wall -isystem $(CUDA_HOME)/include -Wl,-soname,libnvidia-ml.so.1 -o $@ $<
$(BENCH_FAKE)/ridge-bench: $(BUILD)/ridge-bench
	@mkdir -p $(dir $@)
	$(Q)cp $< $@
$(BENCH_FAKE)/ridge-bench-cuda.so: $(CUDA_OBJ) $(FAKE_GPUS)
$(BENCH_FAKE)/ridge-bench-nccl.so: $(NCCL_OBJ) $(FAKE_GPUS)
$(BENCH_FAKE)/ridge-bench-%.so:
	$(Q)$(CXX) -shared -Wl,-rpath,'$$ORIGIN' -o $@ $^ $(if $(filter %nccl.so,$@),$(MPI_LIBS))

# machine code of the timed loops, for tests/bench/loops.txt
SASS_TARGETS ?= 80 90a 120
SASS_PARTS   := fma latency memory tensor
SASS_CUBINS   = $(foreach t,$(SASS_TARGETS),$(foreach p,$(SASS_PARTS) $(if $(filter 90a,$(t)),wgmma),$(BUILD)/sass/$(p).$(t).cubin))
bench-sass: $(if $(NVCC),$(SASS_CUBINS) $(BUILD)/sass/hollow.90a.cubin)
.PHONY: bench-sass
$(BUILD)/sass/%.cubin: $(wildcard src/bench/*.cu src/bench/*.h) tests/bench/hollow.cu
	@mkdir -p $(dir $@)
	$(Q)$(NVCC) $(filter-out -lineinfo $(NVCC_TARGETS),$(NVCC_FLAGS)) -cubin -arch=sm_$(subst .,,$(suffix $*)) \
		-o $@ $(firstword $(wildcard src/bench/cuda_$(basename $*).cu tests/bench/$(basename $*).cu))
