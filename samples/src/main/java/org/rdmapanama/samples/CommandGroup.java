package org.rdmapanama.samples;

import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** A command that does nothing but choose one of its subcommands. */
public abstract class CommandGroup implements Callable<Integer> {
    private final List<Class<?>> commands;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    /**
     * Creates it.
     *
     * @param commands the classes of the subcommands
     */
    protected CommandGroup(Class<?>... commands) {
        this.commands = List.of(commands);
    }

    /**
     * Adds the subcommands.
     *
     * @param group the command line of this command
     * @param name that of a subcommand, which is then the only one; with any other text, all are added
     */
    void addCommands(CommandLine group, String name) {
        List<Class<?>> named = commands.stream()
                .filter(each -> each.getAnnotation(Command.class).name().equals(name))
                .toList();
        (named.isEmpty() ? commands : named).forEach(group::addSubcommand);
    }

    @Override
    public final Integer call() {
        throw new ParameterException(spec.commandLine(), "which command? " + WrongUsage.choices(spec.commandLine()));
    }
}
