"""Times updates of Transduce, trained as a user would. Runs in Transduce's own environment: see measurements.py."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

import transduce
from transduce.training.precision import choose_precision


def main() -> None:
    job = json.loads(sys.argv[1])
    processes = job["processes"]
    changes = [
        *job["changes"],
        f"training.precision={job['precision']}",
        f"training.updates={job['warm_up'] + job['updates']}",
        "training.report_every=1",
    ]
    options = ["--device=cpu", f"--processes={processes}", f"--threads={job['threads'] // processes}", "--quiet"]
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        command = [sys.executable, "-m", "transduce", "train", job["recipe"], *changes, *options, "--out", str(run)]
        subprocess.run(command, check=True, stdout=sys.stderr)
        lines = [json.loads(line) for line in (run / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    reports = [line for line in lines if "seconds_per_update" in line and line["update"] > job["warm_up"]]
    found = {
        "seconds": sum(report["seconds_per_update"] for report in reports),
        "target_tokens": sum(
            round(report["target_tokens_per_second"] * report["seconds_per_update"]) for report in reports
        ),
        "updates": len(reports),
        "version": transduce.__version__,
        "torch": torch.__version__,
        "precision": str(choose_precision(job["precision"], torch.device("cpu"))).removeprefix("torch."),
    }
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
