"""Bar charts as SVG, for the benches of this folder."""

from html import escape

COLOURS = ["#9aa5b1", "#1b6ca8", "#9a3b26", "#3d8b40", "#b8860b"]
LEFT, BAR, GAP, WIDTH, HEAD = 190, 14, 10, 470, 62


def text(x, y, content, extra=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" {extra}>{escape(content)}</text>'


def panel(top, title, series, rows, unit):
    """The parts of a chart, and where it ends. `rows`: a name and a value for each of `series`, or None."""
    longest = max((value for _, values in rows for value in values if value is not None), default=1)
    parts = [text(10, top + 20, title, 'font-weight="bold"')]
    for i, name in enumerate(series):
        x = LEFT + min(150, (WIDTH + 90) / len(series)) * i
        parts.append(f'<rect x="{x:.0f}" y="{top + 32}" width="12" height="12" fill="{COLOURS[i]}"/>')
        parts.append(text(x + 18, top + 42, name))
    y = top + HEAD
    for name, values in rows:
        parts.append(text(LEFT - 10, y + BAR * len(values) / 2 + 4, name, 'text-anchor="end"'))
        for i, value in enumerate(values):
            length = (longest if value is None else value) / longest * WIDTH
            note = "not reached" if value is None else f"{value:.3g} {unit}"
            faint = ' fill-opacity="0.3"' if value is None else ""
            parts.append(f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 2}" '
                         f'fill="{COLOURS[i]}"{faint}/>')
            parts.append(text(LEFT + length + 5, y + BAR - 3, note, 'font-size="10" fill="#555"'))
            y += BAR
        y += GAP
    return parts, y + 10


def chart(panels):
    """An SVG picture of several panels (title, series, rows, unit), one below the other."""
    parts, y = [], 0
    for one in panels:
        more, y = panel(y, *one)
        parts += more
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 90}" height="{y}" '
            'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>')
    return "\n".join([head, *parts, "</svg>"]) + "\n"
