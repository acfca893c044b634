"""Copies of units whose programs a machine need not have, and units that stand in for missing ones."""

import pytest

from quadgen.verify.stubs import TARGETS, required, stand_ins, stubbed


@pytest.mark.parametrize(
    ("written", "judged"),
    [
        ("ExecStart=/opt/x --a %d/key", "ExecStart=/bin/true /opt/x --a %d/key"),
        ("ExecStart = /opt/x", "ExecStart = /bin/true /opt/x"),
        ("ExecStart=-/opt/x --a", "ExecStart=-/bin/true /opt/x --a"),
        ("ExecStartPre=@+/opt/x name", "ExecStartPre=@+/bin/true /opt/x name"),
        ('ExecStartPost="/opt/my dir/x" "a ; b"', 'ExecStartPost=/bin/true "/opt/my dir/x" "a ; b"'),
        ("ExecStop='-/opt/x y' z", "ExecStop=-/bin/true '/opt/x y' z"),
        ("ExecStart=%h/bin/x", "ExecStart=/bin/true %h/bin/x"),
        (
            "ExecReload=/opt/x a ; -/opt/y b \\; /c",
            "ExecReload=/bin/true /opt/x a ; -/bin/true /opt/y b \\; /c",
        ),
        ("ExecStart=\\\n  /opt/x \\\n  --a", "ExecStart=\\\n  /bin/true /opt/x \\\n  --a"),
        ("ExecStart=", "ExecStart="),
        ("ExecStart=x --a", "ExecStart=x --a"),
        ("ExecStart=/opt/", "ExecStart=/opt/"),
        ("ExecStart=~/x", "ExecStart=~/x"),
        ('ExecStart="/opt/x', 'ExecStart="/opt/x'),
        ("ExecStarts=/opt/x", "ExecStarts=/opt/x"),
        ("#ExecStart=/opt/x", "#ExecStart=/opt/x"),
    ],
)
def test_each_program_becomes_the_first_argument_of_one_that_is_there(written: str, judged: str) -> None:
    text = "[Service]\n{}\nType=exec\n"
    assert stubbed(text.format(written).encode(), "/bin/true").decode() == text.format(judged)


def test_bytes_that_are_not_utf_8_are_left_for_systemd_to_judge() -> None:
    data = b"[Service]\nExecStart=/opt/\xff \xfe\n"
    assert stubbed(data, "/bin/true") == b"[Service]\nExecStart=/bin/true /opt/\xff \xfe\n"


def test_only_what_a_unit_cannot_start_without_is_asked_for() -> None:
    text = "Requires=a.service \\\n b.target\nWants=c.service\nBindsTo = d.device\nUpholds=f.path\n"
    assert required(text.encode()) == {"a.service", "b.target", "d.device", "f.path"}


def test_what_the_tree_holds_is_not_stood_in_for() -> None:
    asked = {"a.service", "b@1.service", "c.service", "%n.service", "x/y.service", "d.device", *TARGETS}
    made = stand_ins(asked, {"a.service", "b@.service", *TARGETS}, "/bin/true")
    assert made == {"c.service": b"[Service]\nType=oneshot\nExecStart=/bin/true\n"}


def test_a_mount_stands_where_its_name_says() -> None:
    made = stand_ins({"srv-my\\x20models.mount", "-.mount"}, TARGETS, "/bin/true")
    assert made["srv-my\\x20models.mount"] == b"[Mount]\nWhat=none\nWhere=/srv/my models\n"
    assert made["-.mount"] == b"[Mount]\nWhat=none\nWhere=/\n"
