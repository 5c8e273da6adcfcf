"""Settings of the tests of mutations."""

collect_ignore = ["study"]  # files of a study, which import each other as its extensions
