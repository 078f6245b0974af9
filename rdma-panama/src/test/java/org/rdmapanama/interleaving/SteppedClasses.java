package org.rdmapanama.interleaving;

import java.io.IOException;
import java.io.InputStream;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.FieldVisitor;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Loads classes anew, changed so that {@link Schedule} decides which thread goes on: a step before each atomic operation,
 * each end of an arena and each access to a field that can change; locks, naps and the time are those of {@link Steps}.
 *
 * <p>So what is explored is the code itself, not a model of it that may be right where the code is wrong. What it cannot
 * show is a missing order of plain accesses between processors: here each thread sees all that was written before.
 */
public final class SteppedClasses extends ClassLoader {
    private static final String STEPS = Steps.class.getName().replace('.', '/');

    private static final Map<String, String> INSTEAD = Map.of(
            "java/lang/foreign/Arena.ofShared", "()Ljava/lang/foreign/Arena;",
            "java/util/concurrent/locks/LockSupport.unpark", "(Ljava/lang/Thread;)V",
            "java/util/concurrent/locks/ReentrantLock.lock", "(Ljava/util/concurrent/locks/Lock;)V",
            "java/util/concurrent/locks/ReentrantLock.unlock", "(Ljava/util/concurrent/locks/Lock;)V",
            "java/util/concurrent/locks/Lock.lock", "(Ljava/util/concurrent/locks/Lock;)V",
            "java/util/concurrent/locks/Lock.unlock", "(Ljava/util/concurrent/locks/Lock;)V",
            "java/util/concurrent/locks/LockSupport.parkNanos", "(J)V",
            "java/lang/Thread.sleep", "(J)V",
            "java/lang/Thread.onSpinWait", "()V",
            "java/lang/System.nanoTime", "()J");

    private static final Map<String, String> NAMES = Map.of("parkNanos", "park", "onSpinWait", "spin");

    private final Set<String> packages;
    private final Set<String> stepped;

    /**
     * A loader.
     *
     * @param packages whose classes are loaded anew, so that those changed and those that use them are in one package
     * @param stepped which of them are changed, with what is nested in them
     */
    public SteppedClasses(Set<String> packages, Set<String> stepped) {
        super(SteppedClasses.class.getClassLoader());
        this.packages = packages;
        this.stepped = stepped;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        synchronized (getClassLoadingLock(name)) {
            Class<?> known = findLoadedClass(name);
            if (known != null) {
                return known;
            }
            if (!packages.contains(name.substring(0, Math.max(0, name.lastIndexOf('.'))))) {
                return super.loadClass(name, resolve);
            }
            byte[] bytes = bytes(name);
            if (stepped.contains(name.replaceFirst("\\$.*", ""))) {
                bytes = changed(bytes);
            }
            return defineClass(name, bytes, 0, bytes.length);
        }
    }

    private byte[] bytes(String name) throws ClassNotFoundException {
        try (InputStream in = getParent().getResourceAsStream(name.replace('.', '/') + ".class")) {
            if (in == null) {
                throw new ClassNotFoundException(name);
            }
            return in.readAllBytes();
        } catch (IOException e) {
            throw new ClassNotFoundException(name, e);
        }
    }

    private static byte[] changed(byte[] bytes) {
        ClassReader reader = new ClassReader(bytes);
        Set<String> shared = new HashSet<>();
        reader.accept(
                new ClassVisitor(Opcodes.ASM9) {
                    @Override
                    public FieldVisitor visitField(
                            int access, String name, String descriptor, String signature, Object value) {
                        if ((access & (Opcodes.ACC_FINAL | Opcodes.ACC_STATIC)) == 0) {
                            shared.add(reader.getClassName() + "." + name);
                        }
                        return null;
                    }
                },
                ClassReader.SKIP_CODE);
        ClassWriter writer = new ClassWriter(0);
        reader.accept(
                new ClassVisitor(Opcodes.ASM9, writer) {
                    @Override
                    public MethodVisitor visitMethod(
                            int access, String name, String descriptor, String signature, String[] exceptions) {
                        MethodVisitor code = super.visitMethod(access, name, descriptor, signature, exceptions);
                        return name.equals("<init>") || name.equals("<clinit>") ? code : new Changed(code, shared);
                    }
                },
                0);
        return writer.toByteArray();
    }

    /** What is put in leaves the stack as it was. */
    private static final class Changed extends MethodVisitor {
        private final Set<String> shared;

        Changed(MethodVisitor code, Set<String> shared) {
            super(Opcodes.ASM9, code);
            this.shared = shared;
        }

        @Override
        public void visitFieldInsn(int opcode, String owner, String name, String descriptor) {
            if (shared.contains(owner + "." + name)) {
                super.visitLdcInsn(owner + "." + name);
                String access = opcode == Opcodes.GETFIELD ? "read" : "write";
                super.visitMethodInsn(Opcodes.INVOKESTATIC, STEPS, access, "(Ljava/lang/String;)V", false);
            }
            super.visitFieldInsn(opcode, owner, name, descriptor);
        }

        @Override
        public void visitMaxs(int stack, int locals) {
            // The name of a field.
            super.visitMaxs(stack + 1, locals);
        }

        @Override
        public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
            String instead = INSTEAD.get(owner + "." + name);
            if (instead != null) {
                super.visitMethodInsn(Opcodes.INVOKESTATIC, STEPS, NAMES.getOrDefault(name, name), instead, false);
                return;
            }
            if (owner.equals("java/lang/invoke/VarHandle")
                    || (owner.equals("java/lang/foreign/Arena") && name.equals("close"))) {
                super.visitMethodInsn(Opcodes.INVOKESTATIC, STEPS, "step", "()V", false);
            }
            super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
        }
    }
}
