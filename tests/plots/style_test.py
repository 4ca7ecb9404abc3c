import matplotlib
import numpy as np
import pytest
from PIL import Image

from el_jax.plots import style


def test_a_new_figure_has_the_look_and_leaves_the_global_state():
    before = dict(matplotlib.rcParams)
    figure, axes = style.new_figure(1, 2, size=(5.0, 2.0))
    assert dict(matplotlib.rcParams) == before
    assert axes.shape == (1, 2)
    assert not axes[0, 1].spines["top"].get_visible()
    np.testing.assert_array_equal(figure.get_size_inches(), [5.0, 2.0])


@pytest.mark.parametrize("vertical", [False, True])
def test_the_chance_line_is_at_chance_and_says_so(vertical):
    _, axes = style.new_figure()
    style.add_chance_line(axes[0, 0], 1 / 26, vertical=vertical)
    (line,) = axes[0, 0].lines
    data = line.get_xdata() if vertical else line.get_ydata()
    np.testing.assert_allclose(data, 1 / 26)
    assert axes[0, 0].texts[0].get_text().split() == ["chance", "0.038"]


def test_a_figure_built_again_is_the_same_file(tmp_path):
    for name in ("a.png", "b.png"):
        figure, axes = style.new_figure()
        style.add_legend(figure, axes[0, 0].plot([0, 1], [0, 1], label="line"))
        style.save_figure(figure, tmp_path / name)
    first = (tmp_path / "a.png").read_bytes()
    assert first.startswith(b"\x89PNG")
    assert b"Matplotlib" not in first  # so that a new version leaves the file as it is
    assert first == (tmp_path / "b.png").read_bytes()


def test_a_file_has_few_colours_and_all_its_dots(tmp_path):
    figure, axes = style.new_figure(size=(3.0, 2.0))
    axes[0, 0].imshow(np.arange(1000.0).reshape(20, 50))
    style.save_figure(figure, tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as image:
        assert image.size == (600, 400)
        assert len(image.getcolors()) <= 256
        assert image.convert("RGB").getpixel((0, 0)) == (255, 255, 255)
