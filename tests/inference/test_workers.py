import threading
import time

import pytest
import torch

from transduce.inference.workers import MOST, at_the_same_time, workers_at_most


@pytest.fixture(autouse=True)
def four_threads() -> object:
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


def test_results_come_in_the_order_of_their_tasks() -> None:
    def work(task: int) -> int:
        time.sleep(0.02 if task == 0 else 0)
        return task * task

    assert list(at_the_same_time(work, range(9), 2)) == [task * task for task in range(9)]


def test_workers_share_the_threads_and_give_them_back() -> None:
    found = list(at_the_same_time(lambda _: (threading.get_ident(), torch.get_num_threads()), range(20), 2))
    assert {threads for _, threads in found} == {2}
    assert threading.get_ident() not in {thread for thread, _ in found}
    assert torch.get_num_threads() == 4
    assert at_new_thread(torch.get_num_threads) == 4


def at_new_thread(work: object) -> object:
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(work()))  # type: ignore[operator]
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize(("tasks", "workers"), [(9, 1), (3, 2), (0, 2)])
def test_few_tasks_are_done_by_all_threads_one_after_the_other(tasks: int, workers: int) -> None:
    found = list(at_the_same_time(lambda _: (threading.get_ident(), torch.get_num_threads()), range(tasks), workers))
    assert found == [(threading.get_ident(), 4)] * tasks


def test_an_error_ends_the_work_and_gives_the_threads_back() -> None:
    done = []

    def work(task: int) -> None:
        if task == 0:
            raise ValueError("no")
        time.sleep(0.01)
        done.append(task)

    with pytest.raises(ValueError, match="no"):
        list(at_the_same_time(work, range(1000), 2))
    assert len(done) < 900
    assert torch.get_num_threads() == 4


def test_no_more_work_at_once_than_there_are_threads_or_than_python_can_serve() -> None:
    assert workers_at_most() == min(4, MOST)
    torch.set_num_threads(1)
    assert workers_at_most() == 1


def test_a_second_caller_meanwhile_does_its_tasks_one_after_the_other() -> None:
    first = at_the_same_time(lambda task: task, range(10), 2)
    assert next(first) == 0
    second = list(at_the_same_time(lambda _: threading.get_ident(), range(10), 2))
    assert second == [threading.get_ident()] * 10
    assert list(first) == list(range(1, 10))
    third = list(at_the_same_time(lambda _: threading.get_ident(), range(10), 2))
    assert threading.get_ident() not in third
    assert torch.get_num_threads() == 4
