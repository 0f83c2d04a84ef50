#!/usr/bin/env python3
"""House rules as a test: who may include whom, how long files and functions may be, which calls are banned, what may lie at
the top level. Limits are ratchets: today's longest may not grow. usage: tidy_test.py REPO"""
import re
import subprocess
import sys
from pathlib import Path

REPO = Path(sys.argv[1])
TOP_LEVEL = {"CMakeLists.txt", "README.md", "LICENSE", "CMakePresets.json", "proto", "coordinator", "worker", "common", "cli",
             "tests", "deploy", "configs"}
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 70

# room -> what its files may include from this repository (longest matching room wins).
MAY_INCLUDE = {
    "common/base": ["common/base"],
    "common/os": ["common/base", "common/os"],
    "common/log": ["common/base", "common/text", "common/log"],
    "common/text": ["common/base", "common/os", "common/text", "gridtrain/"],
    "coordinator/core": ["common/base", "coordinator/core"],
    "coordinator/store": ["common/base", "common/os", "coordinator/core", "coordinator/store"],
    "coordinator/logs": ["common/base", "common/os", "coordinator/logs"],
    "coordinator": ["common/", "coordinator/", "gridtrain/"],
    "worker/core": ["common/base", "worker/core"],
    "worker/launcher": ["common/base", "common/os", "worker/launcher"],
    "worker/trainer": ["common/base", "common/os", "worker/trainer"],
    "worker/runtime": ["common/", "worker/core", "worker/runtime", "worker/launcher", "gridtrain/"],
    "worker": ["common/", "worker/core", "worker/runtime", "worker/launcher", "gridtrain/"],
    "cli": ["common/", "cli", "gridtrain/"],
}
# external headers -> where alone they may stand
ONLY_IN = {
    r"sqlite3\.h": ["coordinator/store", "tests"],
    r"grpc(pp)?/.*|.*\.grpc\.pb\.h": ["coordinator/service", "coordinator/main.cc", "worker/runtime", "worker/main.cc", "cli", "tests"],
    r"torch/.*|ATen/.*|c10/.*": ["worker/trainer", "tests"],
    r"yaml-cpp/.*": ["common/text"],
    r".*\.pb\.h|google/protobuf/.*": ["coordinator/service", "coordinator/config", "coordinator/main.cc", "worker/runtime", "worker/main.cc",
                                      "cli", "common/text", "tests"],
}
BANNED = {
    r"\bsystem\s*\(|\bpopen\s*\(": "starts a shell",
    r"\bgets\s*\(": "has no bound",
    r"\bstrcpy\s*\(|\bstrcat\s*\(|(?<!n)\bsprintf\s*\(": "has no bound",
    r"\bgethostbyname\b": "addresses are numeric here",
    r"\bsleep_for\b.*hours": "every wait has a deadline",
    r"\bassert\s*\(": "GT_ASSERT holds in release builds too",
    r"\bTODO\b|\bFIXME\b|\bXXX\b": "finish it or do not write it",
}
CLOCKS = re.compile(r"steady_clock::now|system_clock::now|clock_gettime|\btime\s*\(\s*(nullptr|NULL|0)\s*\)|std::random_device|getrandom")

problems = []


def say(path, line, text):
    problems.append(f"{path}:{line}: {text}")


def tracked():
    out = subprocess.run(["git", "-C", str(REPO), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True).stdout
    return [p for p in out.splitlines() if (REPO / p).is_file()]


def longest_room(path, table):
    rooms = [room for room in table if path == room or path.startswith(room + "/")]
    return max(rooms, key=len) if rooms else None


def check_include(path, number, header):
    room = longest_room(path, MAY_INCLUDE)
    ours = re.match(r"(common|coordinator|worker|cli|tests|proto|gridtrain)/", header)
    if room and ours and not any(header.startswith(prefix) for prefix in MAY_INCLUDE[room]):
        say(path, number, f"{room} may not include {header}")
    for pattern, places in ONLY_IN.items():
        if re.fullmatch(pattern, header) and not any(path.startswith(place) for place in places):
            say(path, number, f"{header} may only be included in {', '.join(places)}")


def check_functions(path, lines):
    """A function is what starts at column 0 (or inside a class at two spaces) and ends with the brace at the same column."""
    start = None
    for number, line in enumerate(lines, 1):
        opens = re.match(r"^( {0,2})(?!namespace|struct|class|enum|extern|union|const|constexpr|inline constexpr|static constexpr)\S.*\)[^;]*\{$", line)
        if start is None and opens and not line.lstrip().startswith(("}", "if", "for", "while", "switch", "return", "//", "static const", "#")):
            start = (number, opens.group(1))
        elif start and line == start[1] + "}":
            length = number - start[0] + 1
            if length > MAX_FUNCTION_LINES:
                say(path, start[0], f"function of {length} lines; {MAX_FUNCTION_LINES} at most")
            start = None


def check_source(path):
    lines = (REPO / path).read_text(errors="replace").splitlines()
    if len(lines) > MAX_FILE_LINES:
        say(path, len(lines), f"file of {len(lines)} lines; {MAX_FILE_LINES} at most")
    pure = path.startswith(("coordinator/core", "worker/core"))
    for number, line in enumerate(lines, 1):
        if include := re.match(r'\s*#include [<"]([^>"]+)[>"]', line):
            check_include(path, number, include.group(1))
        code = re.sub(r'"(\\.|[^"\\])*"', '""', line.split("//")[0])
        for pattern, why in BANNED.items():
            if why == "starts a shell" and path.startswith("tests/"):
                continue
            if re.search(pattern, code if "TODO" not in pattern else line) and "static_assert" not in line:
                say(path, number, f"{line.strip()[:60]!r}: {why}")
        if pure and CLOCKS.search(code):
            say(path, number, "a core reads no clock and draws no random numbers of its own")
    check_functions(path, lines)
    if path.endswith(".h") and "#pragma once" not in lines:
        say(path, 1, "a header without #pragma once")


def main():
    paths = tracked()
    for stray in sorted({p.split("/")[0] for p in paths} - TOP_LEVEL):
        if not stray.startswith("."):
            say(stray, 1, "does not belong at the top level")
    sources = [p for p in paths if p.endswith((".cc", ".h"))]
    for path in sources:
        check_source(path)
    for problem in problems:
        print(problem)
    print(f"tidy: {len(sources)} files, {len(problems)} problems")
    return 1 if problems or len(sources) < 10 else 0


sys.exit(main())
