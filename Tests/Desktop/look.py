"""What a screenshot shows: tiles that are pictures, and tiles that are the same icon again and again."""

import numpy
from PIL import Image

CELL = 4
SMALLEST, LARGEST = 28, 420


def tiles(path):
    """Boxes of things on the screen that are about as large as an icon or a thumbnail, in pixels."""
    pixels = numpy.asarray(Image.open(path).convert("RGB")).astype(int)
    height, width = (size // CELL * CELL for size in pixels.shape[:2])
    pixels = pixels[:height, :width]
    # What differs from its surroundings' plain colour: the colour that most of the screen has.
    coarse = pixels // 8
    commonest = numpy.bincount((coarse[..., 0] << 10 | coarse[..., 1] << 5 | coarse[..., 2]).ravel()).argmax()
    ground = numpy.array([commonest >> 10, commonest >> 5 & 31, commonest & 31]) * 8 + 4
    busy = (abs(pixels - ground).max(axis=2) > 24)
    cells = busy.reshape(height // CELL, CELL, width // CELL, CELL).mean(axis=(1, 3)) > 0.35
    return pixels, [box for box in components(cells) if is_tile(box)]


def is_tile(box):
    top, left, bottom, right, filled = box
    height, width = bottom - top, right - left
    return SMALLEST <= min(height, width) and max(height, width) <= LARGEST and filled > 0.3 and max(height, width) >= 40


def components(cells):
    """Boxes of connected cells, with the share of the box that they fill."""
    seen = numpy.zeros_like(cells)
    for start in zip(*numpy.nonzero(cells)):
        if seen[start]:
            continue
        seen[start] = True
        todo, members = [start], []
        while todo:
            row, column = todo.pop()
            members.append((row, column))
            for near in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
                if 0 <= near[0] < cells.shape[0] and 0 <= near[1] < cells.shape[1] and cells[near] and not seen[near]:
                    seen[near] = True
                    todo.append(near)
        rows, columns = [row for row, _ in members], [column for _, column in members]
        top, left, bottom, right = min(rows), min(columns), max(rows) + 1, max(columns) + 1
        yield (top * CELL, left * CELL, bottom * CELL, right * CELL, len(members) / ((bottom - top) * (right - left)))


def signature(pixels, box):
    top, left, bottom, right, _ = box
    part = Image.fromarray(pixels[top:bottom, left:right].astype("uint8")).resize((8, 8), Image.BOX)
    return numpy.asarray(part).astype(int)


def thumbnails(path, alike=1):
    """How many tiles of a screenshot are pictures, and how many are an icon that others show as well.

    At most `alike` others look like a picture; the icon of a kind of file is the same everywhere.
    """
    pixels, boxes = tiles(path)
    signatures = [signature(pixels, box) for box in boxes]
    own = same = 0
    for index, one in enumerate(signatures):
        twins = sum(abs(one - other).mean() < 7 for place, other in enumerate(signatures) if place != index)
        if twins > alike:
            same += 1
        elif one.std() > 12:
            own += 1
    return own, same
