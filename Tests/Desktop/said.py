"""Prints what the programs on the screen say, as a JSON list of texts; runs in the environment of a lab."""

import json
import signal

import pyatspi

# Views of files have hundreds of children, whose texts are names.
VIEWS = {"table", "tree table", "list", "icon", "layered pane", "tree", "list box", "list item", "table cell", "menu", "menu bar",
         "document frame", "grouping"}
SPEAKING = {"label", "alert", "dialog", "info bar", "notification", "text", "static", "heading", "paragraph", "status bar",
            "push button", "frame", "window", "panel"}
budget = 1500
shows = True


def walk(node, found, depth=0):
    global budget
    budget -= 1
    if node is None or budget < 0 or depth > 30 or not node.getState().contains(pyatspi.STATE_VISIBLE):
        return
    if shows and depth > 1 and not node.getState().contains(pyatspi.STATE_SHOWING):
        return
    role = node.getRoleName()
    if node.name and role in SPEAKING:
        found.append(node.name)
    if role in ("label", "text", "static") and not node.name:
        try:
            found.append(node.queryText().getText(0, 300))
        except NotImplementedError:
            pass
    if role in VIEWS:
        return
    for child in node:
        walk(child, found, depth + 1)


signal.alarm(20)
texts = []
try:
    for program in pyatspi.Registry.getDesktop(0):
        budget = 1500
        # GTK 4.8 never says of anything but windows that it is showing.
        shows = not (program and program.get_toolkit_name() == "GTK" and program.get_toolkit_version().startswith("4"))
        for window in program or ():
            try:
                walk(window, texts)
            except Exception:  # A window that closes while it is looked at says nothing.
                continue
finally:
    print(json.dumps(sorted({text.strip() for text in texts if text.strip()})))
