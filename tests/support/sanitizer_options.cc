// What the sanitizers' runtimes are told. Compiled into every program of a sanitizer build, because the launcher is started
// without the environment of the test. ASAN_OPTIONS and its like still come on top. Weak: a program may have its own.
#define GT_OPTIONS extern "C" __attribute__((visibility("default"), no_sanitize("address", "undefined", "thread"), weak, used)) const char*

// handle_*=2: the launcher gives up all handlers, and a crash of it must be reported all the same.
GT_OPTIONS __asan_default_options() {
  return "detect_stack_use_after_return=1:check_initialization_order=1:strict_string_checks=1:"
         "handle_segv=2:handle_sigbus=2:handle_sigfpe=2:handle_sigill=2:handle_abort=1";
}

GT_OPTIONS __ubsan_default_options() { return "print_stacktrace=1"; }

// Debian's gRPC, Protobuf and abseil are not instrumented.
GT_OPTIONS __tsan_default_options() { return "second_deadlock_stack=1:suppressions=" GT_TSAN_SUPPRESSIONS; }
