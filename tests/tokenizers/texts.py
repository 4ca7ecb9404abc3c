"""A hundred kilobytes of text: scripture, with all on which tokenizers are known to differ."""

from el_jax.tasks.king_james import verses

ODD = (
    "I'll say it isn't 1984, 3.14 or 10,000;  don't\tyou'd   \n\n  see\r\nwe'RE they've 'tis\n",
    "naïve café — “Œuvre” 東京都 Москва, ½ cup ²³ ٣٤ 😀👩‍👩‍👧 e\u0301 \u00a0nbsp \u200bzero\n",
    "def f(x):\n    return x**2  # a = b[0]; c != d\n\t\tif x >= 10: pass   \n",
    "trailing   spaces   \n   leading 7 8  9   10\n a 1b2 c3 \n"
    "!!! ... ?! -- __init__ <b>&amp;</b>\n",
)


def sample_text() -> str:
    """Verses with their numbers; a line of another kind follows every tenth verse."""
    lines = []
    for number, (book, verse) in enumerate(verses()):
        lines.append(f"{book} {number // 25}:{number % 25} {verse}\n")
        if number % 10 == 0:
            lines.append(ODD[number // 10 % len(ODD)])
    return "".join(lines)[:100_000]
