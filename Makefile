# The front door. Every target first makes sure that the machine has what it needs.

JOBS ?= $(shell nproc)
# Many tests wait for processes: one more than there are cores keeps them busy.
TEST_JOBS ?= $(shell expr $(JOBS) + 1)
PREFIX ?= /usr/local
# Passed on only when given, as in `make test STARLING_WERROR=OFF`.
CONFIGURE_FLAGS = $(if $(STARLING_WERROR),-D STARLING_WERROR=$(STARLING_WERROR))

.DEFAULT_GOAL := help
.PHONY: help setup setup-lint configure build demo test bench bench-ripples bench-dear bench-ea-wild bench-nonblocking docs format lint model-check install clean

help:
	@echo "make build                 the program build/starling, tests, benchmarks and examples"
	@echo "make demo                  trains a CNN on four workers, one of them slow: all-reduce against ripples"
	@echo "make test                  build, run all tests, report what was skipped"
	@echo "make bench                 run all benchmarks"
	@echo "make bench-ripples         the table of the Ripples paper again, simulated and real: a quarter of an hour"
	@echo "make bench-dear            the table of the DeAR paper again, simulated: a quarter of an hour"
	@echo "make bench-ea-wild         synchronous or asynchronous, simulated and real: about twenty-five minutes"
	@echo "make bench-nonblocking     the table of the non-blocking SGD paper again, simulated and real: about twenty-five minutes"
	@echo "make docs                  write the tables of docs/strategies as the program prints them"
	@echo "make format                format the C++ sources in place"
	@echo "make lint                  formatting, layers, clang-tidy"
	@echo "make model-check           the agreed membership, checked with spin: under two minutes"
	@echo "make install PREFIX=...    install the program, the library and its CMake package"
	@echo "make clean                 remove all build folders"

setup:
	@tools/setup

setup-lint:
	@tools/setup lint

configure: setup
	@cmake --preset release $(CONFIGURE_FLAGS)

build: configure
	@cmake --build --preset release --parallel $(JOBS)

# One of four workers is four times slower; 80 ms are what a step of this model takes on a slow machine.
DEMO = --workers 4 --model cnn --data glyphs --pace 80ms --slow 0:4 --max-seconds 40 --eval-points 24 --force

# Only the programs that it runs: the tests would take most of the time.
demo: configure
	@cmake --build --preset release --parallel $(JOBS) --target programs
	build/starling train $(DEMO) --strategy allreduce --lr 0.1 --out runs/demo/allreduce
	build/starling train $(DEMO) --strategy ripples --lr 0.1 --out runs/demo/ripples
	build/starling compare runs/demo/allreduce runs/demo/ripples --svg runs/demo/curves.svg

# CTest counts a skipped test as a success; check_labels does not let a whole group of tests vanish like that.
test: build
	@ctest --preset release --parallel $(TEST_JOBS) --output-junit test_results.xml
	@tools/check_labels build/test_results.xml

bench: build
	@set -e; for program in build/bench/*_bench; do echo "== $$program"; $$program; done
	build/starling bench collectives

bench-ripples: build
	bench/papers/ripples

bench-dear: build
	bench/papers/dear

bench-ea-wild: build
	bench/papers/ea_wild

bench-nonblocking: build
	bench/papers/nonblocking

docs: configure
	@cmake --build --preset release --parallel $(JOBS) --target programs
	@tools/write_strategy_tables

format: setup-lint
	@tools/format

lint: setup-lint
	@tools/format --check
	@tools/check_layers
	@tools/tidy

model-check:
	@tools/setup model
	@tools/model_check

install: build
	@cmake --install build --prefix "$(PREFIX)"

clean:
	@rm -rf build build-debug build-clang build-asan build-tsan
