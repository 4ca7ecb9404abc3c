import matplotlib
import numpy as np
import pytest
from matplotlib import colors
from PIL import Image

from el_jax.plots import style


def test_colours_differ_in_lightness_too():
    """In a grey print, black, blue, vermillion and green stand out from the white paper."""

    def luminance(colour):
        return np.dot(colors.to_rgb(colour), [0.2126, 0.7152, 0.0722])

    assert len(set(style.COLOURS)) == len(style.COLOURS)
    assert max(map(luminance, style.COLOURS)) < 0.6


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


def test_the_chance_line_may_go_without_its_name():
    _, axes = style.new_figure()
    style.add_chance_line(axes[0, 0], 1 / 26, label=False)
    assert not axes[0, 0].texts


def test_a_reference_line_says_what_it_is():
    _, axes = style.new_figure()
    style.add_chance_line(axes[0, 0], 0.2, name="of tokens")
    assert axes[0, 0].texts[0].get_text().split("\n") == ["of tokens", "0.2"]


def test_panels_are_lettered_in_order():
    _, axes = style.new_figure(1, 3)
    style.add_titles(axes[0], ["loss", "size"])
    assert [ax.get_title(loc="left") for ax in axes[0]] == ["(a) loss", "(b) size", ""]


def test_a_long_title_is_wrapped_inside_the_figure():
    figure, _ = style.new_figure(size=(4.0, 3.0))
    style.add_question(figure, "one two three four five six seven " * 3)
    figure.draw_without_rendering()
    assert figure.bbox.width >= figure._suptitle.get_window_extent().width


def test_the_legend_of_a_panel_lies_under_it():
    figure, axes = style.new_figure()
    ax = axes[0, 0]
    ax.plot([0, 1], [0, 1], label="line")
    ax.set_xlabel("step")
    style.add_panel_legend(ax)
    figure.draw_without_rendering()
    assert ax.get_legend().get_window_extent().y1 < ax.get_window_extent().y0


def test_words_around_the_data():
    figure, axes = style.new_figure()
    handles = axes[0, 0].plot([0, 1], [0, 1], label="hard strings")
    style.add_question(figure, "Why?")
    style.add_title(axes[0, 0], "training")
    style.add_note(figure, "dots are seeds")
    style.add_legend(figure, handles, note="bars are intervals")
    assert figure.legends[0].get_title().get_text() == "bars are intervals"
    assert figure.get_suptitle() == "Why?"
    assert axes[0, 0].get_title(loc="left") == "training"
    assert figure.get_supxlabel() == "dots are seeds"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["hard strings"]


def test_a_figure_built_again_is_the_same_file(tmp_path):
    for name in ("a.png", "b.png"):
        figure, axes = style.new_figure()
        style.add_legend(figure, axes[0, 0].plot([0, 1], [0, 1], label="line"))
        style.save_figure(figure, tmp_path / name)
    first = (tmp_path / "a.png").read_bytes()
    assert first.startswith(b"\x89PNG")
    assert b"Matplotlib" not in first  # a new version of it alone does not change the file
    assert first == (tmp_path / "b.png").read_bytes()


def test_a_file_has_few_colours_and_all_its_dots(tmp_path):
    figure, axes = style.new_figure(size=(3.0, 2.0))
    axes[0, 0].imshow(np.arange(1000.0).reshape(20, 50))
    style.save_figure(figure, tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as image:
        assert image.size == (600, 400)
        assert len(image.getcolors()) <= 256
        assert image.convert("RGB").getpixel((0, 0)) == (255, 255, 255)
