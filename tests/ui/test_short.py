"""Short links: what comes back is what went in, to the letter; codes are short, and changed ones are refused."""

import asyncio
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpviz.ui.export import short

PAGES, NAMES, WORDS, LINKS = short._tables()
MOST = 60  # characters of the whole link
SITES = ("https://dpviz.example.edu", "http://10.20.30.40:8501")
TEXTS = st.one_of(
    st.sampled_from(WORDS),
    st.integers(0, 2**31).map(str),
    st.floats(0, 1e4).map(str),
    st.sampled_from(["0.10", "00", "1e-05", "-3", "", ",", "a,b", "data,draw,seeds", "é, ü", "1.", ".5"]),
    st.text(max_size=12),
)
STATES = st.dictionaries(st.one_of(st.sampled_from(NAMES), st.text(min_size=1, max_size=6)), TEXTS, max_size=12)


def pairs(query):
    return dict(parse_qsl(query, keep_blank_values=True))


@given(st.sampled_from(PAGES), STATES, st.sets(st.sampled_from(NAMES)))
@example("dpm", {"epsilon": "1.0", "name_1": "the old town"}, set())
def test_any_state_comes_back(page, changed, gone):
    state = {name: value for name, value in LINKS[page].items() if name not in gone} | changed
    code = short.shortened(page, urlencode(state))
    assert code.isalnum()
    assert code == code.upper()
    assert short.opened(code) == (page, short.opened(code)[1])
    assert pairs(short.opened(code)[1]) == state


# What a teacher gives out: a page with its knobs moved, other noise, fewer controls, for a projector or a frame.
GIVEN = [
    ("convergent_kmeans", {"epsilon": "0.1", "n": "2000", "noise_seed": "113", "hide": "data,draw,seeds"}),
    ("convergent_kmeans", {"mode": "published", "tab": "attack", "epsilon_per_iteration": "0.5", "size": "projector"}),
    ("dpm", {"epsilon": "0.5", "hide": "data,knobs,seeds", "size": "projector", "audience": "public"}),
    ("morse", {"n": "5000", "data_noise": "0.08", "epsilon": "5.0", "n_clusters": "5", "frame": "3"}),
    ("nd_laplace", {"radius": "4", "epsilon": "2.0", "under": "walls", "n": "600", "domain": "redraw"}),
    ("source_target", {"n": "2000", "epsilon": "0.5", "n_centers": "7", "noise_seed": "3", "embed": "true"}),
    ("compare", {"compare_at": "0.5", "n": "2000", "with_su": "1", "with_dp_em": "1", "audience": "public"}),
    ("audit", {"audited": "dpm", "audit_epsilon": "0.5", "audit_runs": "1000"}),
    ("learn", {"chapter": "hills", "course_hills": "5.0"}),
    ("quiz", {"half": "after", "hide": "answers,navigation,terms"}),
]


@pytest.mark.parametrize(("page", "moved"), GIVEN, ids=lambda each: each if isinstance(each, str) else "")
@pytest.mark.parametrize("site", SITES)
def test_a_code_of_what_is_given_out_has_60_characters_at_most(site, page, moved):
    link = f"{site}/{page}?{urlencode(LINKS[page] | moved)}"
    found = short.short_link(link)
    assert len(found) <= MOST, found
    assert found.upper() == found, "a QR code needs less room for capitals"
    start, _, code = found.rpartition("/")
    assert start == f"{site.upper()}/{short.FOLDER}"
    assert short.opened(code) == (page, urlencode(LINKS[page] | moved, safe=","))


def test_a_page_of_ones_own_and_a_prefix_keep_what_they_need():
    own = "https://example.org/noisy_means?epsilon=1.0"
    assert short.short_link(own) == own
    below = short.short_link(f"https://example.org/dp/viz/dpm?{urlencode(LINKS['dpm'])}")
    assert below.startswith("https://example.org/dp/viz/S/"), "a path may mind its letters"


def test_a_changed_code_is_refused():
    code = short.shortened("dpm", urlencode(LINKS["dpm"] | {"epsilon": "0.5", "noise_seed": "113"}))
    wrong = [
        code[:at] + letter + code[at + 1 :]
        for at in range(len(code))
        for letter in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        if letter != code[at]
    ]
    opened = 0
    for each in wrong:
        try:
            opened += short.opened(each) is not None
        except ValueError as error:
            assert str(error) == short.WRONG or isinstance(error, UnicodeDecodeError)  # noqa: PT017  # of many
    # Each is missed with a chance of 1 in 251: six standard deviations.
    assert opened <= len(wrong) / short.CHECK + 6 * (len(wrong) / short.CHECK) ** 0.5


@given(st.text(max_size=60))
def test_anything_can_be_typed(text):
    try:
        page, _ = short.opened(text)
    except ValueError:
        return
    assert page in PAGES


def test_the_address_leads_to_the_page():
    def asked(code):
        sent = []

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": f"/S/{code}", "headers": [], "path_params": {"code": code}}
        asyncio.run(short.ROUTE.app(scope, None, send))
        return sent[0]["status"], dict(sent[0]["headers"]).get(b"location", b"").decode()

    status, place = asked(short.shortened("learn", "chapter=coin"))
    assert (status, place) == (307, "../learn?chapter=coin")
    assert asked("ZZZZ")[0] == 404
