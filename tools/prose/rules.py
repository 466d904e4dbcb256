"""The rules of the prose: one row each, with a sentence that it finds and one that it leaves alone.

A row that finds too much costs more than it gains, since people then write around it. A word is left out where most of its
uses are plain English: give, take, far, coming.
"""

import re
from dataclasses import dataclass
from typing import Callable, Iterator

from text import MASK, Passage

Spans = Iterator[tuple[int, int]]


@dataclass(frozen=True)
class Rule:
    name: str
    habit: str  # a key of HABITS
    instead: str  # ends the sentence "write ..."
    find: Callable[[Passage], Spans]
    bad: str
    good: str
    warning: bool = False  # reported, but no failure
    kind: str = "text"  # of the passage that the samples are


HABITS = {
    "clause": "H1, a clause in the place of a noun",
    "machine": "H2, machines that talk, know and want",
    "calque": "H3, phrases and order of another language",
    "term": "H4, private nouns for standard terms",
    "telegram": "H5, telegrams, chains and old values in bare brackets",
    "absence": "H6, definition by absence",
    "length": "length of sentences and cells",
}


def phrase(pattern: str, but: str = "") -> Callable[[Passage], Spans]:
    """Finds `pattern`, except as a part of `but`. A space of a pattern is any white space, line breaks included."""
    both = f"(?:{but})|(?P<found>{pattern})" if but else f"(?P<found>{pattern})"
    compiled = re.compile(both.replace(" ", r"\s+"), re.I)

    def find(passage: Passage) -> Spans:
        for match in compiled.finditer(passage.text):
            if match["found"]:
                yield match.span()

    return find


def outside_cells(find: Callable[[Passage], Spans]) -> Callable[[Passage], Spans]:
    return lambda passage: find(passage) if passage.kind != "cell" else iter(())


SENTENCE_END = re.compile(
    r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bcf\.)(?<!\bal\.)[)\"*_\]]*\s+(?=[\"*_(\[]*[A-Z%s])" % MASK
)


def sentences(text: str) -> Spans:
    start = 0
    for end in SENTENCE_END.finditer(text):
        yield start, end.start()
        start = end.end()
    yield start, len(text)


def each_sentence(wrong: Callable[[str], bool]) -> Callable[[Passage], Spans]:
    def find(passage: Passage) -> Spans:
        if passage.kind != "heading":
            yield from ((start, end) for start, end in sentences(passage.text) if wrong(passage.text[start:end]))

    return find


def words(text: str) -> int:
    return sum(1 for word in text.split() if re.search(r"\w", word))


CLAUSE = re.compile(r"[\"*_(\[]*(?:what(?:ever)?|who(?:ever|se)?|which(?:ever)?|where(?:ver)?)\b.*[.:][)\"*_]*$", re.I | re.S)


def long_sentence(passage: Passage) -> Spans:
    if passage.kind in ("text", "string"):
        yield from ((start, end) for start, end in sentences(passage.text) if words(passage.text[start:end]) > 25)


def long_cell(passage: Passage) -> Spans:
    if passage.kind == "cell" and words(passage.text) > 20:
        yield 0, len(passage.text)


RULES = [
    # H1
    Rule("clause-first", "clause", "the thing or the user first: \"Missing features are reported\"",
         each_sentence(lambda sentence: bool(CLAUSE.match(sentence.strip()))),
         "What is missing is named.", "It shows what limits a transfer. What limits a flow?"),
    Rule("what-is", "clause", "a noun: \"the missing features\"",
         phrase(r"\b(?-i:what) (?:is|was|are|were|has|had|comes|came|goes|went|does|did)\b"),
         "It names what is missing.", "It shows what limits a transfer."),
    # H2
    Rule("says", "machine", "reports, prints, shows, records; distinguish (tell apart)",
         phrase(r"\b(?:tells?|told|telling|says?|said|saying)\b",
                but=r"(?:RFC [\d, ]*\d|papers?|drafts?|standards?|authors?) (?:does not |do not )?says?|that is to say"),
         "`probe` tells which queue drops.", "RFC 5681 says so. `probe` prints the queue."),
    Rule("knows", "machine", "has, reads, recognises; the known fact itself",
         phrase(r"\b(?:knows|knew|(?:does|do|did) not know)\b", but=r"(?:you|they|we|users?) (?:knows|knew|do not know)"),
         "The agent knows why.", "The reason is not known. Now you know."),
    Rule("hears", "machine", "receives", phrase(r"\b(?:hears?|heard|hearing)\b"),
         "The socket hears of a drop.", "The socket receives an error."),
    Rule("believes", "machine", "limits on remote input; estimates; trusts", phrase(r"\bbeliev\w+", but=r"you believe"),
         "The most that is believed of a count.", "The limit on a remote count. Before you believe it, repeat it."),
    Rule("blames", "machine", "attributes", phrase(r"\bblam\w+"),
         "The network is blamed.", "The loss is attributed to the network."),
    Rule("lends", "machine", "loads, temporary host change", phrase(r"\b(?:lends?|lent|lending)\b"),
         "A control is lent to the kernel.", "A control is loaded for the run."),
    Rule("gives-up", "machine", "stops, fails, aborts, times out",
         phrase(r"\b(?:gives?|gave|given|giving) up\b", but=r"(?:gives?|gave|given|giving) up (?:an?|half|\d+)\b"),
         "The agent gave up.", "The agent failed. The window gives up an eighth."),
    Rule("wants", "machine", "requires, needs, asks for; without (for want of)",
         phrase(r"\bwants\b|\bfor want of\b", but=r"(?:user|reader|person|who) wants"),
         "It wants to send.", "It has data to send."),
    Rule("word", "machine", "message, report; timed out after N s (no word for N s)",
         phrase(r"\b(?:its|their|no|last) words?\b|\bword (?:from|of)\b"),
         "No word from the agent for 5 s.", "The agent timed out after 5 s. In other words: it hangs."),
    Rule("nobody", "machine", "the host, process or user that is meant; another host; \"is not counted\"",
         phrase(r"\b(?:nobody|somebody|everybody|anybody|whoever|strangers?)\b"),
         "Nobody counts what was sent.", "Sent packets are not counted."),
    # H3
    Rule("is-no", "calque", "is not a",
         phrase(r"\b(?:is|are|was|were) no \w+",
                but=r"there (?:is|are|was|were) no|(?:is|are|was|were) no (?:\w+er|more|less|worse)\b"),
         "`x` is no address.", "`x` is not an address. There is no route. It is no longer used."),
    Rule("has-not", "calque", "does not have", phrase(r"\b(?:has|have|had) not(?=[,;:)]|\.\s|\.$| (?:a|an|the|any)\b)"),
         "A C file, which Linux has not.", "Linux does not have it. It has not been tried."),
    Rule("anew", "calque", "again; rerun, restart", phrase(r"\banew\b"), "It is made anew.", "It is rebuilt."),
    Rule("otherwise-than", "calque", "differs from; changed since", phrase(r"\b(?:otherwise|another) than\b"),
         "The loss is otherwise than a week ago.", "The loss changed since last week. Queues other than drop-tail."),
    Rule("ado", "calque", "directly", phrase(r"\bfurther ado\b"), "Without further ado.", "Directly."),
    Rule("nth", "calque", "every Nth packet", phrase(r"\bso[- ]manieth\b"), "Every so-manieth packet.", "Every Nth packet."),
    Rule("at-most", "calque", "at most, limit", phrase(r"\bso (?:long|many|much) [^.;:]{1,40} at most\b"),
         "So long a packet waits at most.", "A packet waits at most that long."),
    # H4
    Rule("sent-again", "term", "retransmitted, retransmission", phrase(r"\b(?:sends?|sent|sending)(?: \w+){0,2} again\b"),
         "Packets that TCP sent again.", "Packets that TCP retransmitted."),
    Rule("way", "term", "path, route, direction; in flight, in transit (on its way)",
         phrase(r"\bways?\b",
                but=r"-ways?\b|\b(?:this|that|same|only|by the|in the|in a|in any|other) ways?\b|\bways? (?:to|of \w+ing)\b"),
         "Losses on the way back.", "The one-way delay. The same way. A way to find it."),
    Rule("piece", "term", "GSO packet, super-packet; chunk, part",
         phrase(r"\bpieces?\b", but=r"\bpieces? of (?:code|software|text)\b"),
         "A queue that drops whole pieces.", "A queue that drops GSO packets. A piece of code."),
    Rule("inside", "term", "host model (CPU, NIC, memory)",
         phrase(r"\binside of\b|\b(?:shows?|showing|has|have) (?:its|their|an|no) inside\b"),
         "A host that shows its inside.", "A host with a host model. Inside the host."),
    Rule("control", "term", "congestion control algorithm, CCA",
         phrase(r"\bcontrols?\b", but=r"\b(?:congestion|flow|access|remote) controls?\b|[-/.]controls?\b|\bcontrols?[-/.]\w"
                r"|\bcontrols? (?:connection|character|message|protocol|plane|socket|channel|stream|group|law)s?\b"),
         "The kernel has that control.", "A congestion control. The control connection."),
    Rule("held-back", "term", "limited by, limiting factor; delayed (ACKs)",
         phrase(r"\b(?:hold|holds|held|holding)(?: \w+){0,2} back\b|\bholders?\b"),
         "What held the flow back.", "The limiting factor."),
    Rule("held-against", "term", "compared with", phrase(r"\b(?:hold|holds|held|holding)(?: \w+){0,3} against\b"),
         "Hold the folders against each other.", "Compare the folders."),
    Rule("lack", "term", "unavailable, with the reason", phrase(r"\b(?:a|an|no|the|each|every|its) lacks?\b"),
         "A missing file is a lack.", "The file is unavailable. For lack of memory."),
    Rule("by-will", "term", "intentional drop", phrase(r"\bby will\b"), "Dropped by will.", "An intentional drop."),
    Rule("put-out", "term", "send, enqueue", phrase(r"\b(?:put|puts|putting)(?: \w+)? out\b"),
         "Packets that sockets put out.", "Packets that sockets send."),
    Rule("happening", "term", "event, lifecycle event", phrase(r"\bhappenings?\b"), "A happening.", "An event."),
    Rule("one-by-one", "term", "packet by packet; packet-by-packet mode, train mode", phrase(r"\bone by one\b|\bin trains\b"),
         "Packets are counted one by one.", "Packets are counted individually."),
    Rule("whole", "term", "is missing, truncated, damaged", phrase(r"\bnot arrive whole\b"),
         "It did not arrive whole.", "The upload was truncated. Streams arrive whole and in order."),
    Rule("goes-on", "term", "resume, continue",
         phrase(r"\b(?:go|goes|went|going) on\b", but=r"(?:go|goes|went|going) on the (?:wire|link)"),
         "The command goes on where it stopped.", "The command resumes."),
    Rule("worked-on", "term", "CPU placement", phrase(r"\bworked on\b"),
         "Where it was worked on.", "CPU placement."),
    Rule("carry-out", "term", "run", phrase(r"\b(?:carry|carries|carried|carrying)(?: \w+)? out\b"),
         "Carries out a run.", "Runs it."),
    # H5
    Rule("bare-bracket", "telegram", "\"was 8\", with the unit and what is counted",
         outside_cells(phrase(r"\d[^.;()]{0,30} \(\d[\d,.]*(?:e-?\d+)?(?: and \w+)?\)",
                              but=r"\d[^.;()]{0,30} \((?:19|20)\d\d\)")),
         "10 of 13 claims agree (11).", "10 of 13 claims agree (was 11). RFC 9438 (2023)."),
    Rule("semicolons", "telegram", "one idea a sentence, or a list",
         each_sentence(lambda sentence: len(re.findall(r";\s+[^\W\d_]", sentence)) > 1),
         "It reads; it counts; it ends.", "It reads and counts; then it ends."),
    # H6
    Rule("absence", "absence", "what is there, then the exception; \"not recorded\", \"spurious\" (for nothing)",
         phrase(r"\bnever 0\b|\bcosts? nothing\b|\bfor nothing\b|\bnothing of (?:wirespeed|ours)\b"),
         "It is absent, never 0.", "It is not recorded."),
    # Length
    Rule("long-sentence", "length", "at most 25 words",
         long_sentence,
         "The agent reads the counters of the host, compares them with the counters of the run, writes the differences into a "
         "table, and sends that table to the controller.",
         "The agent reads the counters of the host and compares them with those of the run. It writes the differences into a "
         "table, and sends that table to the controller.", warning=True),
    Rule("long-cell", "length", "at most 20 words in a cell, or a paragraph below the table",
         long_cell,
         "The agent reads the counters of the host, compares them with the counters of the run, and writes the differences "
         "into a table", "The agent compares the counters of the host with the counters of the run", warning=True, kind="cell"),
]
