package org.rdmapanama.ffm;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Assumptions;

/**
 * This machine's C compiler with the installed headers of rdma-core, or with those in the folder that the environment
 * variable RDMA_CORE_INCLUDE names.
 */
public final class CCompiler {
    private static final String INCLUDES = """
            #include <stddef.h>
            #include <stdio.h>
            #include <infiniband/verbs.h>
            #include <infiniband/mlx5dv.h>
            #include <infiniband/efadv.h>
            #include <rdma/rdma_cma.h>
            #include <rdma/rdma_verbs.h>
            """;

    private static final String INCLUDE_FOLDER = System.getenv().getOrDefault("RDMA_CORE_INCLUDE", "");

    /** Whether the compiler has shown that it is there and finds the headers: it need not again. */
    private static volatile boolean isThere;

    private final Path folder;

    /**
     * Fails with what to install unless the compiler and all headers are there; but where the environment variable
     * RDMA_TEST_WITHOUT_C is set, as {@code bin/test --quick} does on a machine without them, skips the test.
     */
    public CCompiler(final Path folder) throws IOException {
        assumeWanted();
        this.folder = folder;
        if (isThere) {
            return;
        }
        try {
            checkIncludeFolder();
            compile("", List.of(), "-fsyntax-only");
            remember();
        } catch (final IOException ex) {
            throw new IOException(
                    "No C compiler, or no headers of rdma-core, to compare the bindings with. "
                            + "On Debian: apt install gcc libc6-dev libibverbs-dev librdmacm-dev\n" + ex.getMessage(),
                    ex);
        }
    }

    private static void remember() {
        isThere = true;
    }

    /** Skips the test if the machine is known to have no C compiler. */
    public static void assumeWanted() {
        Assumptions.assumeTrue(
                System.getenv("RDMA_TEST_WITHOUT_C") == null,
                "there is no C compiler, or there are no headers of rdma-core");
    }

    /** Whether an expression compiles. */
    public boolean accepts(final String expression) {
        try {
            compile("long value(void) { return " + expression + "; }\n", List.of(), "-fsyntax-only");
            return true;
        } catch (final IOException ex) {
            return false;
        }
    }

    /**
     * Returns what the program prints.
     *
     * @param libraries options that name what it is linked with, such as {@code -libverbs}
     */
    public String run(final String source, final String... libraries) throws IOException {
        final String program = folder.resolve("program").toString();
        compile(source, List.of(libraries), "-o", program);
        return execute(List.of(program));
    }

    /**
     * Makes a library of a source file, in which there must be nothing to warn of.
     *
     * @param options further ones, such as {@code -libverbs}
     */
    public static void makeLibrary(final Path library, final String source, final String... options)
            throws IOException {
        final List<String> command = new ArrayList<>(
                List.of("cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden"));
        command.addAll(List.of("-o", library.toString(), source));
        command.addAll(List.of(options));
        execute(command);
    }

    /** Throws what the compiler complains about. */
    private void compile(final String source, final List<String> libraries, final String... options)
            throws IOException {
        final List<String> command = new ArrayList<>(List.of("cc", "-w"));
        if (!INCLUDE_FOLDER.isEmpty()) {
            command.addAll(List.of("-I", INCLUDE_FOLDER));
        }
        command.addAll(List.of(options));
        command.add(Files.writeString(folder.resolve("program.c"), INCLUDES + source)
                .toString());
        // The linker takes from a library only what was missing when it came to it.
        command.addAll(libraries);
        execute(command);
    }

    private static void checkIncludeFolder() throws IOException {
        // The compiler would silently take the installed headers instead of missing ones.
        for (final String header :
                List.of("infiniband/verbs.h", "infiniband/mlx5dv.h", "infiniband/efadv.h", "rdma/rdma_cma.h")) {
            if (!INCLUDE_FOLDER.isEmpty() && !Files.exists(Path.of(INCLUDE_FOLDER, header))) {
                throw new IOException("RDMA_CORE_INCLUDE=" + INCLUDE_FOLDER + " has no " + header);
            }
        }
    }

    private static String execute(final List<String> command) throws IOException {
        final Process process =
                new ProcessBuilder(command).redirectErrorStream(true).start();
        final String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        final int status = process.onExit().join().exitValue();
        if (status != 0) {
            throw new IOException(String.join(" ", command) + " ended with status " + status + ":\n" + output);
        }
        return output;
    }
}
