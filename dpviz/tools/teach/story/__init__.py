"""Plans for a class: what is done, for how long, with links that set every control."""

from dataclasses import dataclass

from dpviz.tools.learn.story import CHAPTERS

_KMEANS = "convergent_kmeans?data=blobs&n=2000&start_seed=5&noise_seed=112"
_DPM = "dpm?data=blobs&n=5000&noise_seed=112"


@dataclass(frozen=True, slots=True)
class TeachLink:
    """A link with the controls set; `shows` is what the page says then, word for word."""

    words: str
    address: str
    shows: str

    def set(self, **more: str) -> str:
        """Return the address with more parameters."""
        extra = "&".join(f"{name}={text}" for name, text in more.items())
        return f"{self.address}{'&' if '?' in self.address else '?'}{extra}" if extra else self.address


QUIZ = TeachLink("Ten questions", "quiz", "Question 1 of 10")
COIN = TeachLink("A coin before the answer", "convergent_kmeans?lesson=epsilon&step=1", "What ε means: step 1")
PUBLIC = TeachLink(
    "What the public sees", f"{_KMEANS}&epsilon=1.0&audience=public", "At ε = 1, 5 centers are released."
)
MUCH = TeachLink(
    "ε = 5: accurate, and hardly private",
    f"{_KMEANS}&epsilon=5.0",
    "An attacker could be right up to 99.4 in 100: almost no protection",
)
LITTLE = TeachLink("ε = 0.1: private, and far off", f"{_KMEANS}&epsilon=0.1", "An attacker is right at most 53 in 100")
WORLDS = TeachLink(
    "Two worlds that differ in one record",
    f"{_KMEANS}&epsilon=1.0&tab=worlds",
    "An attacker is right at most 74 in 100",
)
ATTACK = TeachLink("The attack on exact centers", f"{_KMEANS}&mode=published&tab=attack", "claimed and not established")
BOTH = TeachLink("Published mode: what is claimed, what is proved", f"{_KMEANS}&mode=published", "not established")
CROWD = TeachLink(
    "ε = 1 with 20,000 records",
    "convergent_kmeans?data=blobs&n=20000&epsilon=1.0",
    "An attacker is right at most 74 in 100",
)
CUTS = TeachLink("DPM at ε = 1", f"{_DPM}&epsilon=1.0", "DPM finds 5 clusters")
FEW_CUTS = TeachLink("DPM at ε = 0.1", f"{_DPM}&epsilon=0.1", "DPM finds only 4 of 5 clusters")
SENDING = TeachLink(
    "Everyone moves their own point",
    "nd_laplace?data=city&noise_seed=112&under=play",
    "every point moves 2,000 m on average",
)
WALL = TeachLink("Near the wall", "nd_laplace?data=city&under=walls", "ε = 1.91 per 1,000 m")
AUDIT = TeachLink(
    "Audit of a claim",
    "audit?audited=convergent_kmeans",
    "Claimed: an attacker is right at most 74 in 100, if it held.",
)
COMPARE = TeachLink(
    "Every method at every ε",
    "compare?data=blobs&n=2000&compare_at=1.0",
    "2,000 records, 2 features, 5 known classes",
)
HILLS = TeachLink(
    "The same landscape, cut into 5", "morse?data=moons&epsilon=5.0&n_clusters=5&noise_seed=112", "cut into 5 clusters"
)


def _chapter(name: str) -> TeachLink:
    """Return the link to a chapter of the course, which begins with its title."""
    title = CHAPTERS[name].title
    return TeachLink(title, f"learn?chapter={name}", title)


@dataclass(frozen=True, slots=True)
class ClassPart:
    """A part of a class: how long, what is done, and the links for it."""

    minutes: int
    title: str
    words: str
    links: tuple[TeachLink, ...]


def _steps(*minutes: int) -> tuple[ClassPart, ...]:
    """Return the parts that both plans have, with these lengths."""
    before, coin, public, epsilon, worlds, attack = minutes
    return (
        ClassPart(
            before,
            "Before: ten questions",
            "Everyone answers alone, without help. Nobody learns yet what is right.",
            (QUIZ,),
        ),
        ClassPart(
            coin,
            "A coin that protects you",
            "Let the class answer an embarrassing question by a coin. Guess first what an attacker learns, then let "
            "the lesson measure it.",
            (_chapter("coin"), COIN),
        ),
        ClassPart(
            public,
            "Who sees what",
            "Gray is secret, blue is [[release|released]]. Switch between [[curator]] and public: what is gone?",
            (PUBLIC,),
        ),
        ClassPart(
            epsilon,
            "Move ε",
            "Open both, and move [[epsilon|ε]] between them. What gets better, what gets worse, and for whom?",
            (_chapter("mean"), MUCH, LITTLE),
        ),
        ClassPart(
            worlds,
            "Two worlds",
            "Take one [[record]] out. Let the class guess which world a picture is from, then count how often they are "
            "right.",
            (WORLDS,),
        ),
        ClassPart(
            attack,
            "Play the attacker",
            "Find one record in exact [[center|centers]]. Then read the card: what does the paper claim, what is "
            "proved?",
            (_chapter("leak"), ATTACK),
        ),
    )


AFTER = ClassPart(
    5,
    "After: the same questions",
    "Each person's code comes back to you. Paste all of them under “Your class”.",
    (QUIZ,),
)
PLANS = {
    45: (*_steps(5, 7, 5, 8, 8, 7), AFTER),
    90: (
        *_steps(5, 10, 8, 10, 10, 10),
        ClassPart(
            10,
            "Clusters by cuts",
            "Nobody tells [[DPM]] how many clusters there are. Why does it find fewer of them with less ε?",
            (_chapter("cuts"), CUTS, FEW_CUTS),
        ),
        ClassPart(
            10,
            "Noise before sending",
            "Without a curator, everyone moves their own point. Play a few rounds of the game: where do people live?",
            (_chapter("sending"), SENDING),
        ),
        ClassPart(
            7,
            "A promise, measured",
            "The [[audit]] runs a method on two worlds and counts. What can it show, and what can it never show?",
            (_chapter("audit"), AUDIT),
        ),
        ClassPart(
            5,
            "You decide",
            "Which method, and which ε, would you take for your town? At what price?",
            (_chapter("decide"), COMPARE),
        ),
        AFTER,
    ),
}
