# A thin door to CMake: each target gets what it needs (tools/setup), configures, builds and runs.
# ACCEL_NO_SETUP=1 installs nothing. CMAKE_BUILD_PARALLEL_LEVEL and CTEST_PARALLEL_LEVEL limit how many
# jobs run side by side. `make install` takes PREFIX and DESTDIR; `make soak` takes SOAK_SECONDS, SOAK the names of
# harnesses.

.DEFAULT_GOAL := build
.PHONY: build demo test test-full soak bench install format tidy clean

PREFIX ?= /usr/local

build:
	@tools/setup demo
	@[ -f build/release/build.ninja ] || cmake --preset release -DACCEL_BUILD_TESTS=OFF > /dev/null
	@cmake --build build/release --target product

demo: build
	@examples/sunspots/demo.sh build/release/bin/accel

test:
	@tools/setup test
	@tools/run-tests release -LE long

test-full:
	@tools/setup test-full
	@tools/test-full

soak:
	@tools/setup test-full
	@tools/soak $(SOAK)

bench:
	@tools/setup bench
	@cmake --preset release -DACCEL_BUILD_BENCH=ON > /dev/null
	@cmake --build build/release
	@build/release/bin/accel-bench $(BENCH_ARGS)

# The loader finds a new library in its own folders only after ldconfig.
install: build
	@cmake --install build/release --prefix "$(PREFIX)"
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || PATH="$$PATH:/usr/sbin:/sbin" ldconfig

format:
	@tools/setup format
	@git ls-files '*.c' '*.h' | xargs clang-format -i

tidy:
	@tools/setup tidy
	@cmake --preset dev > /dev/null
	@tools/check-tidy build/dev

clean:
	@rm -rf build
