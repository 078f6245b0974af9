package org.rdmapanama.samples.commands;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.rdmapanama.ffm.Program;

/**
 * A copy of what bin/rdma and bin/demo need to run, which every user may read: the scripts, and the jars of the samples, newer
 * than the sources.
 */
final class BuiltTree {
    private static final Path PROJECT =
            Path.of(System.getProperty("basedir", "")).toAbsolutePath().getParent();

    private static final String COPY = """
            set -e
            mkdir "$2" "$2"/docs
            cp -r "$1"/bin "$2"
            for module in ffm-bindings rdma-panama rdma-soft rdma-mlx5 rdma-efa rdma-cm rdma-nvme samples; do
                mkdir -p "$2/$module/src/main"
                touch "$2/$module/pom.xml"
            done
            touch "$2"/pom.xml "$2"/docs/LEARN.md
            mkdir "$2"/samples/target
            cp -r "$1"/samples/target/modules "$2"/samples/target
            touch "$2"/samples/target/built
            chmod -R a+rX "$2"
            """;

    private final Path folder;

    /**
     * Makes the copy.
     *
     * @param parent where; other users may read it from now on
     */
    BuiltTree(Path parent) throws IOException {
        folder = parent.resolve("tree");
        Program.run("bash", "-c", COPY, "copy", PROJECT.toString(), folder.toString());
        Files.setPosixFilePermissions(parent, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    Path folder() {
        return folder;
    }

    /** Makes a source newer than what is built. */
    void touchSource() throws IOException, InterruptedException {
        // Files that were made in one tick of the kernel's clock have the same time.
        Thread.sleep(20);
        Files.writeString(folder.resolve("samples/src/main/New.java"), "");
    }

    /**
     * Starts a script of bash, with a network, and mounts, of its own. It begins in the root folder, and has the variables
     * {@code tree}, and {@code work}, a folder in memory that everybody may use.
     */
    Program start(String script) throws IOException {
        String before = """
                set -e
                ip link set lo up
                tree=$1
                work=/mnt
                mount -t tmpfs -o mode=1777 tmpfs "$work"
                export RDMA_DEVICE=soft0 RDMA_DEMO_SIZE=1MiB RDMA_DEMO_ROUNDS=10 RDMA_TEST_FIRST_COMPILER=yes
                export JAVA_HOME=$2
                export -n TMPDIR
                cd /
                set +e
                """;
        return Program.start(
                "unshare",
                "--mount",
                "--net",
                "bash",
                "-c",
                before + script,
                "script",
                folder.toString(),
                System.getProperty("java.home"));
    }

    /** Whether this user may have mounts and a network of his own, and be others. */
    static boolean isPossible() throws IOException, InterruptedException {
        List<String> command = List.of(
                "unshare", "--mount", "--net", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "true");
        return new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                        .start()
                        .waitFor()
                == 0;
    }
}
