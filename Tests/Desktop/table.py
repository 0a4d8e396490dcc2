"""Rows of figures with a verdict each."""

import dataclasses

from service import Tally

COLUMNS = (("scenario", 18), ("program", 11), ("service", 9), ("API", 5), ("HEAD", 6), ("prev.", 6), ("pict.", 6), ("MB", 7), ("files", 11),
           ("dialogs", 7))


@dataclasses.dataclass
class Row:
    """A step of a scenario with a program. `broken` holds the promises that were not kept, in words."""

    scenario: str
    program: str
    service: str = ""
    tally: Tally = dataclasses.field(default_factory=Tally)
    files: str = ""
    dialogs: set = dataclasses.field(default_factory=set)
    notes: list = dataclasses.field(default_factory=list)
    broken: list = dataclasses.field(default_factory=list)

    def promise(self, is_kept, words):
        """Notes a promise as broken unless it was kept; returns whether it was."""
        if not is_kept:
            self.broken.append(words)
        return is_kept

    def note(self, words):
        self.notes.append(words)

    def text(self):
        tally = self.tally
        cells = (self.scenario, self.program, self.service, tally.api, tally.heads, tally.previews, tally.pictures,
                 f"{tally.picture_bytes / 1e6:.1f}", self.files, len(self.dialogs))
        line = " ".join(str(cell).ljust(width) for cell, (_, width) in zip(cells, COLUMNS))
        lines = [line + (" WRONG: " + "; ".join(self.broken) if self.broken else " ok")]
        lines += [f"{'':18} {words}" for words in self.notes]
        lines += [f"{'':18} said: {text[:150]}" for text in sorted(self.dialogs)[:6]]
        return "\n".join(lines)


def heading():
    return " ".join(name.ljust(width) for name, width in COLUMNS) + " verdict"
