"""Scripts that complete ``kvnb`` in bash, zsh and fish, made from the commands.

They know the commands, their options, the words of a fixed choice, and where a file is meant; they run nothing.

Must not know: which commands there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from kvnb.commands.verb import Arg, Verb

# --- bash ----------------------------------------------------------------------------------------------------

_BASH = r"""# kvnb in bash: source <(kvnb completion bash)
_kvnb() {
    local IFS=$' \t\n'
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} what=1 option= left=0 i takes= words= line
    COMPREPLY=()
    if (( COMP_CWORD < 2 )); then
        command= what=command
    fi
    case $command in
@TAKES@
    esac
    for (( i = 2; i < COMP_CWORD; i++ )); do
        if (( left > 0 )); then
            left=$(( left - 1 ))
            continue
        fi
        option=${COMP_WORDS[i]}
        case $takes in
            *" $option:1 "*) left=1 ;;
            *" $option:2 "*) left=2 ;;
            *) [[ $option == -?* ]] || what=$(( what + 1 )) ;;
        esac
    done
    if (( left > 0 )); then
        what=$option
    elif [[ $word == -* ]]; then
        what=-
    fi
    case "$command $what" in
@WORDS@
    esac
    if [[ $words == '<file>' ]]; then
        compopt -o filenames 2>/dev/null
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$word")
    else
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -W "$words" -- "$word")
    fi
}
complete -F _kvnb kvnb"""


def bash(commands: Sequence[Verb]) -> str:
    """For bash 3.2 and newer."""
    takes = [f"        {command.name}) takes=' {_takes(command)} ' ;;" for command in commands if _takes(command)]
    words = [f"        ' command') words='{' '.join([*(command.name for command in commands), '--help', '--version'])}' ;;"]
    for command in commands:
        words += [f"        {pattern}) words='{fits}' ;;" for pattern, fits in _bash_words(command)]
    return _BASH.replace("@TAKES@", "\n".join(takes)).replace("@WORDS@", "\n".join(words))


def _takes(command: Verb) -> str:
    return " ".join(f"{typed}:{arg.words}" for typed, arg in command.options.items() if arg.convert)


def _bash_words(command: Verb) -> Iterator[tuple[str, str]]:
    options = " ".join(typed for typed in (*command.options, "--help") if typed.startswith("--"))
    yield f"'{command.name} -'", options
    for typed, arg in command.options.items():
        if arg.convert and arg.suggest:
            yield f"'{command.name} {typed}'", _fits(arg)
    for place, arg in enumerate(command.places, 1):
        if _fits(arg):
            yield f"'{command.name} '" + ("[1-9]*" if arg.many else str(place)), _fits(arg)
    # Where nothing is known to fit, Tab says what else may come.
    yield f"'{command.name} '[1-9]*", options


def _fits(arg: Arg) -> str:
    return "<file>" if arg.suggest == "file" else " ".join(arg.suggest) if isinstance(arg.suggest, tuple) else ""


# --- zsh -----------------------------------------------------------------------------------------------------

_ZSH = r"""#compdef kvnb
# kvnb in zsh: source <(kvnb completion zsh) after compinit, or a file _kvnb in a folder of $fpath
_kvnb() {
    local context state state_descr line
    typeset -A opt_args
    if (( CURRENT == 2 )); then
        local -a commands=(
@COMMANDS@
        )
        _describe command commands
        return
    fi
    shift words
    (( CURRENT-- ))
    case $words[1] in
@CASES@
    esac
}
if [[ $funcstack[1] == _kvnb ]]; then
    _kvnb "$@"
else
    compdef _kvnb kvnb
fi"""


def zsh(commands: Sequence[Verb]) -> str:
    """For zsh with compinit."""
    names = [f"            {_quoted(_zsh_safe(command.name) + ':' + command.help)}" for command in commands]
    cases = [f"        {command.name}) _arguments {' '.join(map(_quoted, _zsh_arguments(command)))} ;;" for command in commands]
    return _ZSH.replace("@COMMANDS@", "\n".join(names)).replace("@CASES@", "\n".join(cases))


def _zsh_arguments(command: Verb) -> Iterator[str]:
    for typed, arg in command.options.items():
        value = f":{_zsh_safe(arg.name)}:{_zsh_fits(arg)}" * arg.words if arg.convert else ""
        yield f"{'*' * arg.many}{typed}[{_zsh_safe(arg.help)}]{value}"
    yield "--help[explain it]"
    for place, arg in enumerate(command.places, 1):
        yield f"{'*' if arg.many else place}:{_zsh_safe(arg.typed)}:{_zsh_fits(arg)}"


def _zsh_fits(arg: Arg) -> str:
    return (
        "_files"
        if arg.suggest == "file"
        else f"({' '.join(arg.suggest)})"
        if isinstance(arg.suggest, tuple) and arg.suggest
        else " "
    )


def _zsh_safe(text: str) -> str:
    return "".join(f"\\{letter}" if letter in "[]:\\" else letter for letter in text)


# --- fish ----------------------------------------------------------------------------------------------------


_FISH = r"""# kvnb in fish: kvnb completion fish | source
function __kvnb_at # COMMAND, a comparison with the place among the words that are no options, options with so many values
    set -l words (commandline -opc)
    test "$words[2]" = $argv[1]; or return 1
    set -l place 1
    set -l left 0
    for word in $words[3..]
        if test $left -gt 0
            set left (math $left - 1)
        else if contains -- $word:1 $argv[4..]
            set left 1
        else if contains -- $word:2 $argv[4..]
            set left 2
        else if not string match -q -- '-*' $word
            set place (math $place + 1)
        end
    end
    test $left -eq 0; and test $place $argv[2] $argv[3]
end
complete -c kvnb -f"""


def fish(commands: Sequence[Verb]) -> str:
    """For fish 3 and newer."""
    lines = [_FISH]
    lines += [f"complete -c kvnb -n __fish_use_subcommand -a {c.name} -d {_quoted(c.help)}" for c in commands]
    lines += [
        "complete -c kvnb -n __fish_use_subcommand -l version -d 'which kvnb this is'",
        "complete -c kvnb -l help -d 'explain it'",
    ]
    for command in commands:
        seen = f"__fish_seen_subcommand_from {command.name}"
        lines += [f"complete -c kvnb -n {_quoted(seen)} {rest}" for rest in _fish_options(command.args)]
        for place, arg in enumerate(command.places, 1):
            here = f"__kvnb_at {command.name} -{'ge' if arg.many else 'eq'} {place} {_takes(command)}".rstrip()
            if _fits(arg):
                lines.append(f"complete -c kvnb -n {_quoted(here)} {_fish_fits(arg)}")
    return "\n".join(lines)


def _fish_options(args: Iterable[Arg]) -> Iterator[str]:
    for arg in args:
        if arg.option:
            short = f" -s {arg.short.lstrip('-')}" if arg.short else ""
            value = f" -r {_fish_fits(arg)}" if arg.convert else ""
            yield f"-l {arg.typed.lstrip('-')}{short}{value} -d {_quoted(arg.help)}"


def _fish_fits(arg: Arg) -> str:
    return "-F" if arg.suggest == "file" else f"-a {_quoted(_fits(arg))}" if _fits(arg) else "-f"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


SCRIPTS: dict[str, Callable[[Sequence[Verb]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
"""Shell to what makes its script."""
