"""The collection's modules, called in this process as Ansible calls them on a host."""

import importlib
import json
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args


def call(
    capsys: pytest.CaptureFixture[str], module: str, *, check: bool = False, diff: bool = False, **options: Any
) -> dict[str, Any]:
    """Run a module with these options; returns what it says, `failed` included."""
    told = {**options, "_ansible_check_mode": check, "_ansible_diff": diff}
    main = importlib.import_module(f"plugins.modules.{module}").main
    capsys.readouterr()
    with patch_module_args(told), pytest.raises(SystemExit):
        main()
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    return said
