"""The books of the Bible as a data set of tensorflow-datasets, one record a book."""

import tensorflow_datasets as tfds

from el_jax.tasks.documents import king_james_books


class LabelledTexts(tfds.core.GeneratorBasedBuilder):
    """Texts, each with the word that names it."""

    code_path = None  # else tfds 4.9.10 imports a package that it does not install
    VERSION = tfds.core.Version("1.0.0")

    def _info(self):
        labels = list(dict.fromkeys(book.label for book in king_james_books()))
        features = {
            "text": tfds.features.Text(),
            "label": tfds.features.ClassLabel(names=labels),
        }
        return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict(features))

    def _split_generators(self, _):
        return {"train": self._generate_examples()}

    def _generate_examples(self):
        for number, book in enumerate(king_james_books()):
            yield number, {"text": book.text, "label": book.label}
