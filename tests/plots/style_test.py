import numpy as np
import pytest

from el_jax.plots import style


@pytest.mark.parametrize("vertical", [False, True])
def test_the_chance_line_is_at_chance_and_says_so(vertical):
    _, axes = style.new_figure()
    style.add_chance_line(axes[0, 0], 1 / 26, vertical=vertical)
    (line,) = axes[0, 0].lines
    data = line.get_xdata() if vertical else line.get_ydata()
    np.testing.assert_allclose(data, 1 / 26)
    assert axes[0, 0].texts[0].get_text().split() == ["chance", "0.038"]


@pytest.mark.parametrize(
    ("kind", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")]
)
def test_a_figure_built_again_is_the_same_file(tmp_path, monkeypatch, kind, start):
    for day, name in enumerate((f"a.{kind}", f"b.{kind}")):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(86_400 * day))
        figure, axes = style.new_figure()
        style.add_legend(figure, axes[0, 0].plot([0, 1], [0, 1], label="line"))
        style.save_figure(figure, tmp_path / name)
    first = (tmp_path / f"a.{kind}").read_bytes()
    assert first.startswith(start)
    if kind == "png":
        assert b"Matplotlib" not in first  # so that a new version leaves the file as it is
    assert first == (tmp_path / f"b.{kind}").read_bytes()
