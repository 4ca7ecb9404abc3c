"""The packaged texts as a data set of tensorflow-datasets, in array_record, without TensorFlow.

    from el_jax.tasks.documents_builder import LabelledTexts

    builder = LabelledTexts(config="king_james", data_dir=FOLDER, file_format="array_record")
    builder.download_and_prepare()
    grain.MapDataset.source(builder.as_data_source("train")).shuffle(seed=0)[0]["text"]

A record is a whole book, play or poem. The task ``text_copy`` reads such a data set through grain
and the packages themselves directly. It keeps all of its windows on the device; a few megabytes
need no pipeline.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

import tensorflow_datasets as tfds

from el_jax.tasks.documents import PACKAGED


class LabelledTexts(tfds.core.GeneratorBasedBuilder):
    """Texts, each with the word that names it."""

    code_path: ClassVar = None  # else tfds 4.9.10 imports a package that it does not install
    VERSION = tfds.core.Version("1.0.0")
    BUILDER_CONFIGS: ClassVar = [tfds.core.BuilderConfig(name=name) for name in PACKAGED]

    def _info(self) -> tfds.core.DatasetInfo:
        labels = list(dict.fromkeys(document.label for document in self._documents()))
        features = {
            "text": tfds.features.Text(),
            "label": tfds.features.ClassLabel(names=labels),
        }
        return tfds.core.DatasetInfo(
            builder=self,
            description="Texts, each with the word that names it.",
            features=tfds.features.FeaturesDict(features),
        )

    def _split_generators(self, dl_manager: Any) -> dict[str, Iterator[Any]]:
        del dl_manager  # nothing is downloaded
        return {"train": self._generate_examples()}

    def _generate_examples(self) -> Iterator[Any]:
        for number, document in enumerate(self._documents()):
            yield number, {"text": document.text, "label": document.label}

    def _documents(self) -> Any:
        return PACKAGED[self.builder_config.name]()
