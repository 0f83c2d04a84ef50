"""Every command of the README works as written."""
import os
import re
import shlex
import unittest

from harness import REPO, ClusterTest, main


def commands():
    blocks = re.findall(r"```sh\n(.*?)```", (REPO / "README.md").read_text(), re.S)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


class Readme(ClusterTest):
    def test_gtctl_commands_run_as_written(self):
        lines = [line for line in commands() if line.startswith("gtctl")]
        self.assertGreater(len(lines), 5)
        for line in lines:
            argv = shlex.split(line)[1:]
            if "--follow" in argv and not os.path.exists(self.cluster.bin / "gt-trainer"):
                continue
            # Sample data lie where ranks of an unprivileged user can read them.
            if "configs/jobs/mnist.yaml" in argv:
                os.system(f"cp -r {REPO}/configs/data/mnist {self.cluster.dir}/ && chmod -R a+rX {self.cluster.dir}/mnist")
                argv += ["--set", f"train.data.path={self.cluster.dir}/mnist"]
            argv = [str(REPO / arg) if arg.startswith("configs/") else arg for arg in argv]
            run = self.cluster.gtctl(*argv, timeout=300)
            self.assertEqual(run.code, 0, f"{line}\n{run.out}{run.err}")

    def test_the_scripts_that_it_names_are_what_the_gate_runs(self):
        gate = (REPO / ".ci/run").read_text()
        for line in commands():
            if not line.startswith("gtctl"):
                self.assertIn(line, gate)

    def test_options_in_its_table_exist(self):
        text = (REPO / "README.md").read_text()
        for command, option in re.findall(r"`gtctl ([a-z]+)[^`]*?(--[a-z-]+)", text):
            self.assertIn(option, self.cluster.gtctl(command, "--help").out, f"{command} {option}")

    def test_every_command_has_three_examples(self):
        overview = self.cluster.gtctl("--help").out
        for command in ("submit", "list", "status", "logs", "events", "explain", "wait", "cancel", "nodes", "version", "completion"):
            self.assertIn(command, overview)
            shown = self.cluster.gtctl(command, "--help")
            self.assertEqual(shown.code, 0)
            self.assertGreaterEqual(len(re.findall(rf"^\s+(?:\$ )?(?:\S+=\S+ )?.*gtctl.* {command}\b", shown.out, re.M)), 3, shown.out)


if __name__ == "__main__":
    main()
