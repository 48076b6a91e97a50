"""Arrays that all processes of a machine need are made once, and mapped from a file."""

import os
import time
from dataclasses import replace

import numpy as np
import pytest
from test_sentence_pairs import plain, training_data

from transduce.data import sentence_pairs
from transduce.data.planned import PackedPlan
from transduce.data.shared_arrays import SharedArrays


def counting(numbers):
    made = []

    def make():
        made.append(1)
        return {"numbers": np.array(numbers, np.int32)}

    return make, made


def test_arrays_are_made_once_and_mapped(tmp_path):
    make, made = counting([3, 5])
    for _ in range(2):
        array = SharedArrays(tmp_path / "a").get("first", make)["numbers"]
        assert array.tolist() == [3, 5]
        assert isinstance(array, np.memmap)
    assert len(made) == 1


def test_those_that_are_replaced_go_and_who_maps_them_reads_on(tmp_path):
    shared = SharedArrays(tmp_path / "a")
    old = shared.get("first", counting([3])[0])["numbers"]
    shared.get("second", counting([5])[0], in_place_of="first")
    assert not (tmp_path / "a" / "first").exists()
    assert old.tolist() == [3]


def test_what_another_run_has_left_goes_after_a_week(tmp_path):
    for name, days in (("old", 8), ("new", 6)):
        SharedArrays(tmp_path / name).get("first", counting([3])[0])
        then = time.time() - days * 24 * 3600
        os.utime(tmp_path / name, (then, then))
    SharedArrays(tmp_path / "a").get("first", counting([3])[0])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "new"]


def test_a_damaged_file_is_made_anew(tmp_path):
    make, made = counting(range(1000))
    shared = SharedArrays(tmp_path / "a")
    shared.get("first", make)
    (file,) = tmp_path.glob("a/first/arrays/*.npy")
    os.truncate(file, 200)
    assert len(shared.get("first", make)["numbers"]) == 1000
    assert len(made) == 2


def test_a_plan_in_one_array_is_a_sequence():
    plan = PackedPlan(np.array([5, 3, 7, 2], np.int32), np.array([0, 1, 3, 4]))
    assert [rows.tolist() for rows in plan] == [[5], [3, 7], [2]]
    assert [rows.tolist() for rows in plan[1:]] == [[3, 7], [2]]
    assert plan[-1].dtype == np.int64
    with pytest.raises(IndexError):
        plan[3]


def with_contents(pairs):
    return replace(pairs, stores=[replace(store, content=str(n)) for n, store in enumerate(pairs.stores)])


@pytest.mark.parametrize("before", [None, [[1], [], [2, 3]]])
def test_shared_plans_are_those_made_in_memory_and_made_once(tmp_path, monkeypatch, before):
    monkeypatch.setattr(sentence_pairs, "SHARED_FROM", 50)
    pairs = with_contents(replace(training_data(weights=(1.0, 1.5, 0.3), target_tokens=40), before=before))
    shared = pairs.sharing(tmp_path)
    assert shared.shared is not None
    assert [plain(shared, epoch) for epoch in range(4)] == [plain(pairs, epoch) for epoch in range(4)]
    (folder,) = (tmp_path / "plans").iterdir()
    assert {path.name for path in folder.iterdir()} == {"lengths", "epoch-2", "epoch-3"}
    monkeypatch.setattr(sentence_pairs, "buckets", None)  # another process plans nothing
    other = pairs.sharing(tmp_path)
    assert plain(other, 3) == plain(shared, 3)
    data = other.planned()
    assert (data.epoch(3).make(data.epoch(3).batches[0]).target_out > 0).any()


def test_plans_of_other_data_or_settings_are_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(sentence_pairs, "SHARED_FROM", 50)
    pairs = with_contents(training_data(target_tokens=40))
    others = [
        replace(pairs, seed=7),
        replace(pairs, weights=(1.0, 1.0, 2.0)),
        replace(pairs, stores=pairs.stores[:2], weights=(1.0, 1.0)),
        replace(pairs, before=[[1], [1], [1]]),
    ]
    folders = {each.sharing(tmp_path).shared.folder for each in [pairs, *others]}
    assert len(folders) == 5
    assert replace(pairs, of_epoch=lambda stores, seed: stores).sharing(tmp_path).shared is None
    monkeypatch.setattr(sentence_pairs, "SHARED_FROM", 91)
    assert pairs.sharing(tmp_path).shared is None, "few pairs are planned in memory"
