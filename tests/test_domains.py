"""Who is labelled, with which class, in which domain: the rules, one claim each."""

from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skatter.domains import UNLABELLED, Domains, coded, read_domains, which_domain

some = settings(deadline=None, max_examples=25)

NAN = float("nan")


def told(view: Domains) -> list:
    """The label of every sample under the user's own name, None where it is unlabelled."""
    return [None if code == UNLABELLED else view.classes[code] for code in view.label]


def places(view: Domains) -> list:
    """The domain of every sample under the user's own name."""
    return [view.domain_ids[code] for code in view.domain]


def partition(values) -> set:
    """Groups of equal values, whatever the values are called."""
    return {frozenset(i for i, v in enumerate(values) if v == name) for name in set(values)}


# --- who is labelled ----------------------------------------------------------------------------


def test_minus_one_marks_unlabelled_integers():
    assert told(read_domains([3, 7, -1, 3, -1])) == [3, 7, None, 3, None]


def test_nan_marks_unlabelled_floats_and_whole_floats_are_integers():
    view = read_domains(np.array([0.0, NAN, 2.0]))
    assert told(view) == [0, None, 2]
    assert view.classes.dtype.kind == "i"


@pytest.mark.parametrize("missing", [None, NAN, np.nan, np.float32("nan"), pd.NA, pd.NaT])
@pytest.mark.parametrize("present", [["a", "b"], [4, 9], [True, False]])
def test_a_missing_object_marks_unlabelled_in_lists_and_object_arrays(missing, present):
    values = [present[0], missing, present[1]]
    expected = [present[0], None, present[1]]
    assert told(read_domains(values)) == expected
    assert told(read_domains(tuple(values))) == expected
    assert told(read_domains(np.array(values, dtype=object))) == expected


def test_a_list_of_strings_with_nan_does_not_make_a_class_called_nan():
    view = read_domains(["a", NAN])
    assert view.classes.tolist() == ["a"]
    assert view.labelled.tolist() == [True, False]


def test_the_word_nan_is_a_class_like_any_other():
    assert told(read_domains(["nan", "None", "a"])) == ["nan", "None", "a"]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Series(["a", None, "b"]), ["a", None, "b"]),
        (pd.Series(["a", None, "b"], dtype=object), ["a", None, "b"]),
        (pd.Series(["a", None, "b"], dtype="string"), ["a", None, "b"]),
        (pd.Series(["a", None, "b"], dtype="category"), ["a", None, "b"]),
        (pd.Categorical(["a", None, "b"]), ["a", None, "b"]),
        (pd.Series([5, None, 6], dtype="category"), [5, None, 6]),
        (pd.Series([5, -1, 6], dtype="category"), [5, None, 6]),
        (pd.Series([5, None, 6], dtype="Int64"), [5, None, 6]),
        (pd.Series([5, -1, 6], dtype="Int64"), [5, None, 6]),
        (pd.Series([5, -1, 6]), [5, None, 6]),
        (pd.Series([5, None, 6], dtype="Float64"), [5, None, 6]),
        (pd.Series([True, None, False], dtype="boolean"), [True, None, False]),
        (pd.Index(["a", None, "b"]), ["a", None, "b"]),
        (pl.Series(["a", None, "b"]), ["a", None, "b"]),
        (pl.Series(["a", None, "b"], dtype=pl.Categorical), ["a", None, "b"]),
        (pl.Series([5, None, 6]), [5, None, 6]),
        (pl.Series([5, -1, 6]), [5, None, 6]),
        (pl.Series([True, None, False]), [True, None, False]),
    ],
    ids=lambda value: f"{type(value).__module__.split('.')[0]}-{getattr(value, 'dtype', '')}",
)
def test_columns_of_data_frames_read_like_lists(column, expected):
    assert told(read_domains(column)) == expected


def test_a_data_frame_of_one_column_is_a_column():
    assert told(read_domains(pd.DataFrame({"y": [0, -1, 1]}))) == [0, None, 1]


def test_unsigned_and_boolean_labels_are_all_labels():
    assert told(read_domains(np.array([0, 255, 3], dtype=np.uint8))) == [0, 255, 3]
    assert told(read_domains(np.array([True, False]))) == [True, False]


def test_minus_one_beside_a_single_class_is_a_class():
    assert told(read_domains([-1, 1, 1, -1])) == [-1, 1, 1, -1]
    assert told(read_domains(np.array([-1.0, 1.0]))) == [-1, 1]


@pytest.mark.parametrize("ids", [["a", "a", "b", "b"], [0, 0, 1, 1], [1, 1, -2, -2]])
@pytest.mark.parametrize("dtype", [int, float, object])
def test_minus_one_beside_a_single_class_is_a_class_where_every_domain_holds_both(ids, dtype):
    assert told(read_domains(np.array([-1, 1, 1, -1], dtype), ids)) == [-1, 1, 1, -1]


@pytest.mark.parametrize("ids", [["a", "a", "b", "b"], [0, 0, 1, 1], [1, 1, -2, -2]])
@pytest.mark.parametrize("y", [[-1, 1, -1, -1], [1, 1, -1, -1], [0, 0, -1, -1]])
@pytest.mark.parametrize("dtype", [int, float, object])
def test_a_domain_of_nothing_but_minus_one_beside_one_class_is_refused(y, ids, dtype):
    y = np.array(y, dtype)
    with pytest.raises(ValueError, match=rf"^y holds -1 and .*domain {ids[2]!r}: .*labelled="):
        read_domains(y, ids)
    known = [True, True, False, False]
    assert read_domains(y, ids, labelled=known).labelled.tolist() == known
    assert read_domains(y, ids, labelled=[True] * 4).labelled.all()


def test_what_the_refusal_of_an_ambiguous_minus_one_advises_works():
    y, ids = np.array([-1, 1, -1, -1]), ["a", "a", "b", "b"]
    zero_one = np.array([0, 1, -1, -1])
    assert told(read_domains(zero_one, ids)) == [0, 1, None, None]
    for missing in (None, NAN):
        marked = np.array([-1, 1, missing, missing], dtype=object)
        assert told(read_domains(marked, ids)) == [-1, 1, None, None]
    assert told(read_domains(y, ids, labelled=zero_one >= 0)) == [-1, 1, None, None]


def test_minus_one_in_all_domains_is_no_class():
    assert read_domains([-1, -1], ["a", "b"]).n_labelled == 0


@pytest.mark.parametrize("blank", ["", " ", "\t\n", np.str_("")])
@pytest.mark.parametrize("kind", [list, np.array, lambda y: np.array(y, object), pd.Series])
def test_blank_text_is_unlabelled_as_on_the_command_line(blank, kind):
    view = read_domains(kind(["ant", blank, "bee"]), ["x", "y", "x"])
    assert told(view) == ["ant", None, "bee"]
    assert view.target.tolist() == [False, True, False]


def test_blank_bytes_are_unlabelled_too():
    assert told(read_domains(np.array([b"ant", b"", b"bee"]))) == [b"ant", None, b"bee"]


def test_blank_text_beside_numbers_is_unlabelled():
    assert told(read_domains([4, "", 9])) == [4, None, 9]


def test_minus_one_alone_is_no_class():
    view = read_domains([-1, -1, -1])
    assert view.n_labelled == 0
    assert view.classes.size == 0


def test_minus_one_as_a_string_is_a_class():
    assert told(read_domains(["-1", "0", "1"])) == ["-1", "0", "1"]


def test_an_explicit_mask_wins_over_every_mark_in_y():
    y, mask = [-1, 0, 1, 2], [True, True, False, True]
    assert told(read_domains(y, labelled=mask)) == [-1, 0, None, 2]
    assert told(read_domains(y, labelled=pl.Series(mask))) == [-1, 0, None, 2]
    assert told(read_domains(y, labelled=pd.Series(mask, dtype="boolean"))) == [-1, 0, None, 2]
    assert told(read_domains([-1, 1, -1], [1, 1, -2], labelled=[False] * 3)) == [None] * 3


def test_an_explicit_mask_makes_the_hidden_values_of_y_irrelevant():
    mask = [True, True, False, False]
    plain = read_domains(["a", "b", "a", "b"], labelled=mask)
    for hidden in (["z", "a"], [None, None], [NAN, 3], [2.5, b"z"]):
        other = read_domains(["a", "b", *hidden], labelled=mask)
        assert told(other) == told(plain)
        assert other.classes.tolist() == ["a", "b"]


def test_an_explicit_mask_over_an_absent_label_is_refused():
    with pytest.raises(ValueError, match=r"labelled is True at row 1, but y has no value"):
        read_domains(["a", None, "b"], labelled=[True, True, True])


def test_an_explicit_mask_without_any_y_is_refused():
    with pytest.raises(ValueError, match=r"\blabelled\b.*\by\b"):
        read_domains(None, ["a", "b"], labelled=[True, False])


def test_no_y_means_that_nothing_is_labelled():
    view = read_domains(None, ["a", "b", "a"])
    assert view.n_labelled == 0
    assert view.target.all()


@pytest.mark.parametrize(
    ("values", "kind"), [(["b", "a"], "U"), ([2, 1], "i"), ([True, False], "b"), ([2.0, 1.0], "i")]
)
def test_classes_are_sorted_and_keep_their_own_type(values, kind):
    view = read_domains(values)
    assert view.classes.tolist() == sorted(values)
    assert view.classes.dtype.kind == kind
    assert view.label.tolist() == [1, 0]


# --- sources and targets ------------------------------------------------------------------------


def test_a_domain_is_a_target_if_and_only_if_it_has_no_label():
    view = read_domains([0, 1, -1, -1, 1, -1], ["a", "a", "a", "b", "c", "b"])
    assert dict(zip(view.domain_ids.tolist(), view.is_target.tolist(), strict=True)) == {
        "a": False,
        "b": True,
        "c": False,
    }
    assert view.target.tolist() == [False, False, False, True, False, True]
    assert view.source.tolist() == [True, True, True, False, True, False]


def test_a_negative_domain_id_is_a_target_even_with_labels():
    view = read_domains([0, 1, 0, -1], [1, 1, -2, -2])
    assert view.target.tolist() == [False, False, True, True]
    assert told(view) == [0, 1, 0, None]


def test_a_non_negative_domain_id_beside_negative_ones_is_a_source_even_without_labels():
    view = read_domains([0, 1, -1, -1], [1, 1, 2, -3])
    assert view.source.tolist() == [True, True, True, False]


def test_zero_is_a_source_under_the_sign_convention():
    assert read_domains([0, 1, -1], [0, 0, -1]).source.tolist() == [True, True, False]


def test_the_sign_of_strings_means_nothing():
    assert read_domains([0, 1, 1], ["-1", "1", "1"]).source.all()


def test_minus_one_is_a_mark_in_sources_that_have_two_classes():
    view = read_domains([0, 1, -1, -1], [1, 1, 2, -3])
    assert told(view) == [0, 1, None, None]


def mask_by_the_rules(y, ids):
    """The rules of the design, read aloud; None where nobody can tell."""
    if len({v for v in y if v != -1}) != 1:
        return [v != -1 for v in y]
    held = [{v for v, i in zip(y, ids, strict=True) if i == own} for own in set(ids)]
    return None if {-1} in held else [True] * len(y)


@some
@given(st.lists(st.tuples(st.integers(-1, 2), st.integers(-2, 3)), min_size=1, max_size=8))
def test_marks_are_told_from_labels_by_the_rules(rows):
    y, ids = [r[0] for r in rows], [r[1] for r in rows]
    expected = mask_by_the_rules(y, ids)
    if expected is None:
        with pytest.raises(ValueError, match="labelled="):
            read_domains(y, ids)
        return
    view = read_domains(y, ids)
    assert view.labelled.tolist() == expected
    assert told(view) == [v if known else None for v, known in zip(y, expected, strict=True)]
    assert places(view) == ids
    if min(ids) < 0:
        assert view.target.tolist() == [i < 0 for i in ids]
    else:
        with_labels = {i for i, known in zip(ids, expected, strict=True) if known}
        assert view.target.tolist() == [i not in with_labels for i in ids]


# --- domains that were not given ----------------------------------------------------------------


def test_without_domains_the_labelled_are_one_and_the_unlabelled_another():
    view = read_domains(["a", None, "b", None])
    assert view.n_domains == 2
    assert partition(view.domain) == {frozenset({0, 2}), frozenset({1, 3})}
    assert view.target.tolist() == [False, True, False, True]


def test_without_domains_and_with_all_labels_there_is_one_source():
    view = read_domains(["a", "b", "a"])
    assert view.n_domains == 1
    assert view.source.all()


def test_without_domains_and_without_labels_there_is_one_target():
    for view in (read_domains([-1, -1, -1]), read_domains(n_samples=3)):
        assert view.n_domains == 1
        assert view.target.tolist() == [True, True, True]


def test_without_domains_an_explicit_mask_makes_them():
    view = read_domains([0, 1, 0], labelled=[True, False, True])
    assert view.target.tolist() == [False, True, False]


# --- domains that were given --------------------------------------------------------------------


@pytest.mark.parametrize(
    "ids",
    [
        ["b", "a", "b"],
        [3, 0, 3],
        (3, 0, 3),
        [True, False, True],
        [3.0, 0.0, 3.0],
        np.array(["b", "a", "b"]),
        np.array(["b", "a", "b"], dtype=object),
        np.array([b"b", b"a", b"b"]),
        np.array([3, 0, 3], dtype=np.uint8),
        pd.Series(["b", "a", "b"], dtype="category"),
        pd.Series(["b", "a", "b"], dtype="string"),
        pd.Series([3, 0, 3], dtype="Int64"),
        pl.Series(["b", "a", "b"]),
        pl.Series(["b", "a", "b"], dtype=pl.Categorical),
        pl.Series([3, 0, 3]),
    ],
    ids=lambda ids: f"{type(ids).__module__}-{getattr(ids, 'dtype', type(ids[0]))}",
)
def test_domain_ids_come_in_any_container(ids):
    view = read_domains([0, 1, 1], ids)
    assert places(view) == list(ids)
    assert view.domain.tolist() == [1, 0, 1]
    assert view.domain_ids.tolist() == sorted(set(np.asarray(ids).tolist()))
    assert view.source.all()


def test_whole_floats_carry_the_sign_convention_too():
    assert read_domains([0, 1, 1], [1.0, 1.0, -2.0]).target.tolist() == [False, False, True]


def test_counts_are_the_numbers_of_labelled_and_of_all_samples():
    view = read_domains(["a", "b", None, "a", "a"], ["x", "x", "y", "y", "x"])
    assert (view.n_samples, view.n_labelled, view.n_domains) == (5, 4, 2)
    assert view.class_counts.tolist() == [3, 1]
    assert view.domain_counts.tolist() == [3, 2]
    assert view.names().tolist() == ["a", "b", "a", "a"]


# --- taking and hiding --------------------------------------------------------------------------


def test_take_keeps_order_codes_and_who_is_a_target():
    view = read_domains(["b", "a", None, "c"], ["x", "y", "z", "y"])
    part = view.take(np.array([3, 2, 3]))
    assert told(part) == ["c", None, "c"]
    assert places(part) == ["y", "z", "y"]
    assert part.classes.tolist() == ["a", "b", "c"]
    assert part.class_counts.tolist() == [0, 0, 2]
    assert part.domain_counts.tolist() == [0, 2, 1]
    assert part.target.tolist() == [False, True, False]


def test_take_does_not_remember_what_was_cached_before():
    view = read_domains([0, 1, -1, 1])
    assert view.class_counts.tolist() == [1, 2]
    part = view.take(np.array([1, 2]))
    assert part.labelled.tolist() == [True, False]
    assert part.class_counts.tolist() == [0, 1]
    assert part.domain_counts.tolist() == [1, 1]


@pytest.mark.parametrize("rows", [np.array([0, 3]), np.array([True, False, False, True])])
def test_hide_takes_labels_and_leaves_domains(rows):
    view = read_domains([0, 1, 2, 1], [5, 5, 6, 6])
    hidden = view.hide(rows)
    assert told(hidden) == [None, 1, 2, None]
    assert places(hidden) == places(view)
    assert hidden.classes.tolist() == [0, 1, 2]
    assert told(view) == [0, 1, 2, 1]


def test_a_source_whose_labels_are_all_hidden_stays_a_source():
    view = read_domains([0, 1, 0, -1], ["a", "a", "b", "c"])
    hidden = view.hide(view.domain == 1)
    assert hidden.source.tolist() == view.source.tolist() == [True, True, True, False]
    assert hidden.class_counts.tolist() == [1, 1]


# --- nothing changes ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["label", "classes", "domain", "domain_ids", "is_target"])
def test_the_arrays_of_a_view_are_read_only(name):
    view = read_domains([0, 1, -1], ["a", "a", "b"])
    for one in (view, view.take(np.array([0, 2])), view.hide(np.array([1])), read_domains([0, 1])):
        assert not getattr(one, name).flags.writeable


@pytest.mark.parametrize("name", ["labelled", "target", "class_counts", "domain_counts"])
def test_the_cached_arrays_of_a_view_cannot_be_changed_either(name):
    view = read_domains([0, 1, -1], ["a", "a", "b"])
    before = getattr(view, name).copy()
    with pytest.raises(ValueError, match="read-only"):
        getattr(view, name)[0] = 0
    np.testing.assert_array_equal(getattr(view, name), before)


def test_the_attributes_of_a_view_cannot_be_replaced():
    view = read_domains([0, 1])
    with pytest.raises(FrozenInstanceError):
        view.label = np.zeros(2)


@pytest.mark.parametrize(
    "y", [np.array([0, 1, -1]), np.array([0.0, 1.0, NAN]), np.array(["a", "b", None], dtype=object)]
)
def test_reading_leaves_the_inputs_untouched_to_the_bit_and_writeable(y):
    ids, mask = np.array([1, 1, -2]), np.array([True, True, False])
    copies = y.copy(), ids.copy(), mask.copy()
    before = list(y) if y.dtype == object else y.tobytes()
    for view in (read_domains(y, ids), read_domains(y, ids, labelled=mask), read_domains(y)):
        view.hide(np.array([0]))
        view.take(np.array([0]))
    if y.dtype == object:
        assert all(a is b for a, b in zip(y, before, strict=True))
    else:
        assert y.tobytes() == before
    np.testing.assert_array_equal(ids, copies[1])
    np.testing.assert_array_equal(mask, copies[2])
    for array, copy in zip((y, ids, mask), copies, strict=True):
        assert array.flags.writeable
        assert array.dtype == copy.dtype


def test_changing_the_inputs_afterwards_does_not_change_the_view():
    y, ids, mask = np.array([0, 1, 1]), np.array([1, 1, -2]), np.array([True, True, False])
    view = read_domains(y, ids, labelled=mask)
    y[:], ids[:], mask[:] = 9, 9, True
    assert told(view) == [0, 1, None]
    assert places(view) == [1, 1, -2]


# --- invariances --------------------------------------------------------------------------------

samples = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", None]), st.sampled_from(["x", "y", "z"])),
    min_size=1,
    max_size=10,
)


@some
@given(samples, st.randoms(use_true_random=False))
def test_the_order_of_the_samples_does_not_matter(rows, random):
    y, ids = [r[0] for r in rows], [r[1] for r in rows]
    order = list(range(len(rows)))
    random.shuffle(order)
    view = read_domains(y, ids)
    shuffled = read_domains([y[i] for i in order], [ids[i] for i in order])
    taken = view.take(np.array(order))
    np.testing.assert_array_equal(shuffled.label, taken.label)
    np.testing.assert_array_equal(shuffled.domain, taken.domain)
    np.testing.assert_array_equal(shuffled.classes, view.classes)
    np.testing.assert_array_equal(shuffled.domain_ids, view.domain_ids)
    np.testing.assert_array_equal(shuffled.is_target, view.is_target)


@some
@given(samples, st.permutations(["p", "q", "r"]), st.permutations([10, 20, 30]))
def test_the_names_of_classes_and_domains_do_not_matter(rows, class_names, domain_names):
    rename_class = dict(zip("abc", class_names, strict=True)) | {None: None}
    rename_domain = dict(zip("xyz", domain_names, strict=True))
    y, ids = [r[0] for r in rows], [r[1] for r in rows]
    view = read_domains(y, ids)
    renamed = read_domains([rename_class[v] for v in y], [rename_domain[i] for i in ids])
    assert told(renamed) == [rename_class[v] for v in told(view)]
    assert places(renamed) == [rename_domain[i] for i in places(view)]
    np.testing.assert_array_equal(renamed.labelled, view.labelled)
    np.testing.assert_array_equal(renamed.target, view.target)


@some
@given(st.lists(st.sampled_from([0, 1, 2, None]), min_size=1, max_size=8).filter(any))
def test_every_way_to_write_a_missing_label_says_the_same(values):
    known = sorted({v for v in values if v is not None})
    mask = [v is not None for v in values]
    spellings = [
        values,
        np.array([NAN if v is None else v for v in values]),
        pd.Series(values, dtype="Int64"),
        pl.Series(values, dtype=pl.Int64),
    ]
    views = [read_domains(v) for v in spellings]
    views.append(read_domains([0 if v is None else v for v in values], labelled=mask))
    if len(known) > 1:
        views.append(read_domains([-1 if v is None else v for v in values]))
    for view in views:
        assert told(view) == values
        assert view.classes.tolist() == known


# --- errors -------------------------------------------------------------------------------------

THREE = [0, 1, 0]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        # one value per sample
        ({"y": np.zeros((3, 2))}, ValueError, r"\by\b must be one-dimensional.*\(3, 2\)"),
        ({"y": 3}, ValueError, r"\by\b must be one-dimensional.*\(\)"),
        ({"y": "abc"}, ValueError, r"\by\b must be one-dimensional"),
        ({"y": [0, [1, 2]]}, (TypeError, ValueError), r"\by\b"),
        ({"y": THREE, "sample_domain": np.zeros((3, 1))}, ValueError, r"sample_domain.*\(3, 1\)"),
        ({"y": THREE, "labelled": np.ones((3, 1), bool)}, ValueError, r"labelled.*\(3, 1\)"),
        # as many values as samples
        ({"y": THREE, "sample_domain": [0, 1]}, ValueError, r"y has 3, sample_domain has 2"),
        ({"y": THREE, "labelled": [True]}, ValueError, r"y has 3, labelled has 1"),
        ({"y": THREE, "n_samples": 5}, ValueError, r"X has 5, y has 3"),
        ({"sample_domain": ["a"], "n_samples": 5}, ValueError, r"X has 5, sample_domain has 1"),
        ({}, ValueError, r"y or sample_domain must be given"),
        # classes
        ({"y": [0.5, 1.25, 3.0]}, ValueError, r"\by\b"),
        ({"y": [0.5, None, 3.0]}, ValueError, r"\by\b"),
        ({"y": np.array([1j, 2.0])}, (TypeError, ValueError), r"\by\b"),
        ({"y": [0.0, np.inf]}, (TypeError, ValueError), r"\by\b"),
        ({"y": [0.0, 1e300]}, (TypeError, ValueError), r"\by\b"),
        ({"y": ["a", 1]}, TypeError, r"\by\b mixes values of type int, str"),
        ({"y": np.array(["a", 1.5], dtype=object)}, TypeError, r"\by\b mixes .* float, str"),
        ({"y": [1, 2**70]}, (TypeError, ValueError), r"\by\b"),
        ({"y": [Ellipsis, Ellipsis]}, TypeError, r"\by\b"),
        # domains
        ({"y": THREE, "sample_domain": ["a", None, "b"]}, ValueError, r"sample_domain .* row 1"),
        ({"y": THREE, "sample_domain": [0, 1, NAN]}, ValueError, r"sample_domain .* row 2"),
        ({"y": THREE, "sample_domain": ["a", "", "b"]}, ValueError, r"sample_domain .* row 1"),
        ({"y": THREE, "sample_domain": np.array([b"a", b"", b"b"])}, ValueError, "sample_domain"),
        ({"y": THREE, "sample_domain": ["a", 1, 2]}, TypeError, r"sample_domain mixes .*int, str"),
        ({"y": THREE, "sample_domain": [0.5, 1, 2]}, TypeError, r"sample_domain must hold"),
        ({"y": THREE, "sample_domain": [0, 1, np.inf]}, (TypeError, ValueError), "sample_domain"),
        ({"y": THREE, "sample_domain": pd.Series(["a", None, "b"])}, ValueError, "sample_domain"),
        ({"y": THREE, "sample_domain": pl.Series([1, None, 2])}, ValueError, "sample_domain"),
        # the mask
        ({"y": THREE, "labelled": [1, 0, 1]}, TypeError, r"labelled must be a boolean mask"),
        ({"y": THREE, "labelled": [True, None, True]}, TypeError, r"labelled must be a boolean"),
        ({"y": THREE, "labelled": ["yes", "no", "no"]}, TypeError, r"labelled must be a boolean"),
    ],
    ids=lambda value: " ".join(repr(value).split())[:60] if isinstance(value, dict) else "",
)
def test_what_cannot_be_read_is_refused_with_the_name_of_its_argument(arguments, error, message):
    with pytest.raises(error, match=message):
        read_domains(**arguments)


def test_a_restricted_view_has_the_classes_and_domains_of_its_rows_alone():
    y = ["cow", "ant", "bee", None, "cow"]
    view = read_domains(y, ["zoo", "home", "farm", "farm", "zoo"])
    rows = np.array([4, 3, 0])
    part = view.restrict(rows)
    assert part.classes.tolist() == ["cow"]
    assert part.domain_ids.tolist() == ["farm", "zoo"]
    assert part.label.tolist() == [0, -1, 0]
    assert part.domain_ids[part.domain].tolist() == ["zoo", "farm", "zoo"]
    assert part.is_target.tolist() == [False, False]
    masked = view.restrict(np.isin(np.arange(5), rows))
    assert masked.label.tolist() == [0, -1, 0]


def test_restricting_to_all_rows_changes_nothing():
    view = read_domains([1, 0, 2, -1], [3, 3, 5, -7])
    same = view.restrict(np.arange(4))
    for name in ("label", "classes", "domain", "domain_ids", "is_target"):
        np.testing.assert_array_equal(getattr(same, name), getattr(view, name))


@pytest.mark.parametrize(
    ("given", "ids", "expected"),
    [
        ([3, 9, 3, 1], [9, 3], [1, 0, 1, -1]),
        (["b", "a", "c"], ["c", "b"], [1, -1, 0]),
        ([1, 2], ["1", "2"], [-1, -1]),
        (np.array([b"a", b"b"]), ["b"], [-1, 0]),
    ],
)
def test_samples_know_which_of_some_domains_they_belong_to(given, ids, expected):
    found = which_domain(given, np.array(ids), n_samples=len(given))
    assert found.tolist() == expected


@pytest.mark.parametrize(
    "values",
    [
        np.array(["b", "a", "b", "", "c"]),
        np.array([f"name {i % 40}" for i in range(200)]),
        np.array([], dtype="U3"),
        np.array([3, -1, 3, 250, 7] * 60),
        np.array([-128, 127, 0] * 100, dtype=np.int8),
        np.array([2**63, 2**63 + 5, 2**63], dtype=np.uint64),
        np.array([-(2**62), 2**62]),
        np.array([0.5, 2.0, 0.5]),
        np.array([True, False, True]),
    ],
    ids=lambda values: f"{values.dtype} {len(values)}",
)
def test_codes_without_a_sort_are_those_of_numpy(values):
    names, codes = coded(values)
    expected, places = np.unique(values, return_inverse=True)
    assert names.dtype == expected.dtype
    assert names.tolist() == expected.tolist()
    assert codes.tolist() == places.tolist()
