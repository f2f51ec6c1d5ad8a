"""The lesson on ε: a coin, what it hides and what it lets through, and the odds that every ε stands for."""

import numpy as np

from dpviz.core import attacker_odds
from dpviz.mechanisms import estimated_share, randomized_response
from dpviz.stories.lesson import Answer, Lesson, LessonStep, Question, ranges
from dpviz.stories.panel import limit
from dpviz.tools.learn.story.coin import TWO_TOSSES, attacked

N_PEOPLE, N_YES = 1_000, 300
SEED = 11
REMEMBER = ", ".join(f"at ε = {each:g}, {limit(attacker_odds(each))} in 100" for each in (0.1, 1.0, 2.0, 5.0))


def heard() -> Answer:
    """Let a thousand people answer by the coin."""
    truth = np.arange(N_PEOPLE) < N_YES
    said = randomized_response(truth, epsilon=TWO_TOSSES, rng=np.random.default_rng(SEED))
    found = N_PEOPLE * estimated_share(said, epsilon=TWO_TOSSES)
    words = {"measured": str(int(said.sum())), "found": f"{found:.0f}", "off": f"{abs(found - N_YES):.0f}"}
    return Answer(float(said.sum()), words)


LESSON = Lesson(
    "epsilon",
    "convergent_kmeans",
    "What ε means",
    "A coin that protects you, and what an attacker can still tell at ε = 0.1, 1 and 5.",
    {"data": "blobs", "n": "2000", "mode": "repaired", "epsilon": "0.5", "start_seed": "5", "noise_seed": "112"},
    (
        LessonStep(
            "A coin before the answer",
            "You are asked something embarrassing. Toss a coin where nobody sees it. Heads: tell the truth. Tails: "
            "toss again and say yes for heads, no for tails. Whatever you said, the coin may have said it. That is "
            "differential privacy.",
        ),
        LessonStep(
            "What the crowd still tells",
            "1,000 people answer with the coin. In truth, 300 of them would have to say yes.",
            question=Question(
                "How many say yes?",
                ranges("Fewer than 200", "200 to 349", "350 to 449", "450 or more", at=(200, 350, 450)),
                heard,
                "**{measured}** said yes in a run made just now. A quarter says yes whatever is true; true ones say it "
                "three times as often. Turned around, that gives {found} people: off by {off}. The crowd is known, "
                "nobody in it is.",
            ),
        ),
        LessonStep(
            "One answer",
            "You hear one person say yes. Before that, yes and no were equally likely to you. You believe what you "
            "hear.",
            question=Question(
                "How often are you right, in 100?",
                ranges("50 to 60", "60 to 70", "70 to 80", "More than 80", at=(60, 70, 80)),
                lambda: attacked(TWO_TOSSES),
                "Right **{measured}** times in 100, in 400,000 rounds made just now. The coin makes the truth 3 times "
                "as likely as its opposite. ε is the logarithm of that factor: ln 3 = 1.1.",
            ),
        ),
        LessonStep(
            "The same promise for clusters",
            "The slider above the picture promises ε for a whole picture of 2,000 records. An attacker knows all of "
            "them but one, and guesses from the picture whether that one is in it. Before any release, he is right 50 "
            "times in 100. Say ε is 1.",
            question=Question(
                "How often is the attacker right with the release, at most, in 100?",
                ranges("50 to 60", "60 to 70", "70 to 80", "More than 80", at=(60, 70, 80)),
                lambda: attacked(1.0),
                "**{measured}** in 100, measured on the release that gives away most for ε = 1: one answer by a coin. "
                "The limit is {limit}; find it beside the slider. Behind it: with or without that record, no picture "
                "is more than e^ε times as likely.",
            ),
            after={"epsilon": "1.0"},
        ),
        LessonStep(
            "More accuracy",
            "Now raise ε to 5. For the same 2,000 records noise shrinks to a fifth, and the centers come closer to the "
            "truth.",
            {"epsilon": "1.0"},
            Question(
                "How often is the attacker right at most, in 100?",
                ranges("70 to 85", "85 to 95", "95 or more", at=(85, 95)),
                lambda: attacked(5.0),
                "**{measured}** in 100; the limit is {limit}. Five times the ε is not five times the risk: it is "
                "nearly no doubt. A large ε is a warning; a small one is worth as much as its proof.",
            ),
            {"epsilon": "5.0"},
        ),
        LessonStep(
            "More privacy",
            "Now lower ε to 0.1. Noise grows until it hides any single record.",
            {"epsilon": "5.0"},
            Question(
                "How often is the attacker right at most, in 100?",
                ranges("Less than 55", "55 to 60", "60 to 75", at=(55, 60)),
                lambda: attacked(0.1),
                "**{measured}** in 100; the limit is {limit}. Hardly better than a coin. What it costs is in front of "
                "you: with so few records, the picture is nearly all noise.",
            ),
            {"epsilon": "0.1"},
        ),
        LessonStep(
            "Now you",
            "Move ε yourself and read the line beside it. Remember these: "
            f"{REMEMBER}. Then open Data and raise Records: the centers get more accurate, the promise stays the same.",
            {"epsilon": "2.0"},
        ),
    ),
)
