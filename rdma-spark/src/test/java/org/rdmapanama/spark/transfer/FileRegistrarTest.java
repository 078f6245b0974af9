package org.rdmapanama.spark.transfer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.VerbsException;

/** How files are mapped for kernels that take them for reading, for others, and for none. */
class FileRegistrarTest {
    private static final int ENOMEM = 12;
    private static final int EFAULT = 14;
    private static final int BYTES = 10_000;

    @TempDir
    private Path folder;

    private Path file;

    /** Of each mapping that was to be registered, whether it was for reading only. */
    private final List<Boolean> wereReadOnly = new ArrayList<>();

    private static final class Refusal extends VerbsException {
        private static final long serialVersionUID = 1;

        Refusal(int errno) {
            super("ibv_reg_mr", errno, "", null);
        }
    }

    @BeforeEach
    void write() throws IOException {
        file = folder.resolve("a.data");
        Files.write(file, new byte[BYTES]);
    }

    private void register(FileRegistrar registrar) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            assertEquals(null, registrar.register(file, BYTES, arena));
        }
    }

    /** Takes what a kernel takes that pins pages for writing, and has the errno for the rest. */
    private MemoryRegion pinForWriting(MemorySegment memory, int errno) {
        wereReadOnly.add(memory.isReadOnly());
        assertEquals(BYTES, memory.byteSize());
        if (memory.isReadOnly()) {
            throw new Refusal(errno);
        }
        return null;
    }

    @Test
    void shouldMapForReadingWhereTheKernelTakesThat() throws IOException {
        FileRegistrar registrar = new FileRegistrar(memory -> {
            wereReadOnly.add(memory.isReadOnly());
            return null;
        });
        register(registrar);
        register(registrar);
        assertEquals(List.of(true, true), wereReadOnly);
    }

    @Test
    void shouldTryOnlyOnceWhereTheKernelPinsForWriting() throws IOException {
        FileRegistrar registrar = new FileRegistrar(memory -> pinForWriting(memory, EFAULT));
        register(registrar);
        register(registrar);
        register(registrar);
        assertEquals(List.of(true, false, false, false), wereReadOnly);
    }

    @Test
    void shouldNotMapForWritingAfterAnotherFailure() {
        FileRegistrar registrar = new FileRegistrar(memory -> pinForWriting(memory, ENOMEM));
        for (int i = 0; i < 2; i++) {
            VerbsException failure = assertThrows(VerbsException.class, () -> register(registrar));
            assertEquals(ENOMEM, failure.errno());
        }
        assertEquals(List.of(true, true), wereReadOnly);
    }

    @Test
    void shouldTryBothAgainWhereBothWereRefused() {
        FileRegistrar registrar = new FileRegistrar(memory -> {
            wereReadOnly.add(memory.isReadOnly());
            throw new Refusal(EFAULT);
        });
        for (int i = 0; i < 2; i++) {
            assertThrows(VerbsException.class, () -> register(registrar));
        }
        assertEquals(List.of(true, false, true, false), wereReadOnly);
    }
}
