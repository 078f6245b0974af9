package org.rdmapanama.cards;

/** A command that fails, as a system call does, with an errno. */
final class CommandException extends Exception {
    private static final long serialVersionUID = 1;

    private final int errno;

    CommandException(int errno) {
        super("errno " + errno, null, false, false);
        this.errno = errno;
    }

    /** Returns the result of a provider line's call, which is a negated errno if it failed. */
    static long check(long result) throws CommandException {
        if (result < 0) {
            throw new CommandException((int) -result);
        }
        return result;
    }

    int errno() {
        return errno;
    }
}
