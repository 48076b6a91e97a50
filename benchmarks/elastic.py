"""Measures how soon a run on two machines ends and is back when a process, torchrun or the network is gone.

    python benchmarks/elastic.py              # nine kills, and a table; cutting a network needs root and `ip`
    python benchmarks/elastic.py --only worker --times 1

The machines are two of torchrun's agents on loopback addresses, 127.0.0.1 and 127.0.0.2; for a network that is cut, the
second is in a network namespace. Where a worker is killed, both machines go on; where an agent or the network is gone,
the first goes on alone, as `--nnodes 1:2` lets it. "ended" counts the seconds until all processes of before are gone,
and "back" those until the run has written a checkpoint that is newer than the last one before.
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 180.0  # seconds
SPACE = "transduce-elastic"
"""The network namespace of the second machine where its network is cut."""


@dataclass(frozen=True)
class Machines:
    """Two machines that train one run."""

    run: Path
    agents: tuple["subprocess.Popen[bytes]", "subprocess.Popen[bytes]"]

    def workers(self) -> list[int]:
        """Returns the process ids of the trainings, the first machine's first."""
        return [child for agent in self.agents for child in children(agent.pid)]

    def newest(self) -> int:
        """Returns the update of the newest complete checkpoint; 0 for none."""
        whole = self.run.glob("checkpoints/[0-9]*/progress.json")
        return max((int(path.parent.name) for path in whole), default=0)


def main() -> None:
    """Kill what the options say and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=list(KILLS), help="what is killed")
    parser.add_argument("--times", type=int, default=3)
    arguments = parser.parse_args()
    print("| what is gone | ended, s | back, s |\n| --- | --- | --- |")
    for name in [arguments.only] if arguments.only else KILLS:
        measured = [kill(name) for _ in range(arguments.times)]
        ended, back = (", ".join(f"{seconds:.1f}" for seconds in column) for column in zip(*measured, strict=True))
        print(f"| {name} | {ended} | {back} |", flush=True)


def kill(name: str) -> tuple[float, float]:
    """Returns the seconds until all processes of a run have ended, and until it is back."""
    with tempfile.TemporaryDirectory() as folder, machines(Path(folder), is_cut=name == "network") as both:
        wait_until(lambda: both.newest() > 0 and len(both.workers()) == 2)
        workers, newest = both.workers(), both.newest()
        began = time.monotonic()
        KILLS[name](both)
        ended = wait_until(lambda: not any(map(is_running, workers))) - began
        return ended, wait_until(lambda: both.newest() > newest) - began


def kill_worker(both: Machines) -> None:
    """Kills the second machine's training."""
    os.kill(both.workers()[1], signal.SIGKILL)


def kill_agent(both: Machines) -> None:
    """Kills the second machine's torchrun."""
    both.agents[1].kill()
    both.agents[1].wait()


def cut_network(both: Machines) -> None:
    """Cuts the second machine's network."""
    subprocess.run(["ip", "-n", SPACE, "link", "set", "inside", "down"], check=True)


KILLS: dict[str, Callable[[Machines], None]] = {"worker": kill_worker, "agent": kill_agent, "network": cut_network}
"""Functions that take away a part of a run, by the name of the part."""


@contextmanager
def machines(folder: Path, is_cut: bool) -> Iterator[Machines]:
    """Starts a training on two machines, and ends it."""
    addresses, devices = (
        (("10.77.7.1", "10.77.7.2"), ("outside", "inside")) if is_cut else (("127.0.0.1", "127.0.0.2"), ("lo", "lo"))
    )
    with namespace(addresses) if is_cut else no_namespace():
        with socket.socket() as free:
            free.bind((addresses[0], 0))
            port = free.getsockname()[1]
        run = folder / "run"
        training = [
            "quickstart",
            "training.updates=100000",
            "checkpoint.every_updates=10",
            "--out",
            str(run),
            "--resume",
        ]
        agents = []
        for number, (address, device) in enumerate(zip(addresses, devices, strict=True)):
            starter = [
                *("--nnodes=1:2", "--nproc-per-node=1", "--max-restarts=3", "--rdzv-backend=c10d", "--rdzv-id=elastic"),
                f"--rdzv-endpoint={addresses[0]}:{port}",
                f"--rdzv-conf=is_host={int(number == 0)},last_call_timeout=5",
                f"--local-addr={address}",
            ]
            inside = ["ip", "netns", "exec", SPACE] if is_cut and number else []
            agents.append(
                subprocess.Popen(
                    [
                        *inside,
                        sys.executable,
                        "-m",
                        "torch.distributed.run",
                        *starter,
                        "-m",
                        "transduce",
                        "train",
                        *training,
                    ],
                    env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": device},
                    stdin=subprocess.DEVNULL,
                    stdout=(folder / f"machine-{number}.txt").open("wb"),
                    stderr=subprocess.STDOUT,
                )
            )
        both = Machines(run, (agents[0], agents[1]))
        try:
            yield both
        except TimeoutError:
            for number in range(2):
                print((folder / f"machine-{number}.txt").read_text()[-3000:], file=sys.stderr)
            raise
        finally:
            left = both.workers()
            for agent in agents:
                agent.kill()
                agent.wait()
            for worker in left:
                if is_running(worker):
                    os.kill(worker, signal.SIGKILL)
            wait_until(lambda: not any(map(is_running, left)))


@contextmanager
def namespace(addresses: tuple[str, str]) -> Iterator[None]:
    """Makes a network namespace with one connection to this machine."""
    first, second = addresses
    for command in (
        f"netns add {SPACE}",
        "link add outside type veth peer name inside",
        f"link set inside netns {SPACE}",
        f"addr add {first}/24 dev outside",
        "link set outside up",
        f"-n {SPACE} addr add {second}/24 dev inside",
        f"-n {SPACE} link set inside up",
        f"-n {SPACE} link set lo up",
    ):
        subprocess.run(["ip", *command.split()], check=True)
    try:
        yield
    finally:
        subprocess.run(["ip", "link", "del", "outside"], check=True)  # a namespace lives on while a process is in it
        subprocess.run(["ip", "netns", "del", SPACE], check=True)


@contextmanager
def no_namespace() -> Iterator[None]:
    """Does nothing."""
    yield


def children(pid: int) -> list[int]:
    """Returns the processes that a process has started."""
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return [int(child) for child in listed.stdout.split()]


def is_running(pid: int) -> bool:
    """Returns True for a process that has not ended, whether or not its end was noticed."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(is_so: Callable[[], bool]) -> float:
    """Waits until something is so and returns the time; raises TimeoutError after some minutes."""
    until = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(0.1)
    return time.monotonic()


if __name__ == "__main__":
    main()
