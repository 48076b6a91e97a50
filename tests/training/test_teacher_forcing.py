import pytest

from transduce.training.training_settings import TeacherForcing


def test_the_true_token_is_always_read_unless_settings_say_otherwise() -> None:
    assert [TeacherForcing().rate(update, 10) for update in (1, 5, 10)] == [1, 1, 1]
    assert [TeacherForcing(first=0.4, last=0.4).rate(update, 10) for update in (1, 5, 10)] == [0.4] * 3


def test_the_rate_changes_on_a_straight_line_and_ends_with_the_run_or_where_the_settings_say() -> None:
    falling = TeacherForcing(first=1.0, last=0.5, after=10)
    assert [falling.rate(update, 30) for update in (1, 10, 20, 30)] == [1.0, 1.0, 0.75, 0.5]
    early = TeacherForcing(first=0.8, last=0.2, updates=4)
    assert [early.rate(update, 30) for update in (2, 4, 30)] == pytest.approx([0.5, 0.2, 0.2])


@pytest.mark.parametrize("wrong", [{"first": 1.1}, {"last": -0.1}, {"after": -1}, {"after": 5, "updates": 5}])
def test_rates_and_spans_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        TeacherForcing(**wrong)
