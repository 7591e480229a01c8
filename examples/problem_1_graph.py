"""The network of problem 1 as a graph with a Session, the way most TF1 scripts are written.

It runs on TensorFlow 1.13 to the newest. The freeze comes before `minimize`, and needs no session of its own.
"""

import numpy as np

import freezecompat as fc
from freezecompat import tf1 as tf

tf.disable_eager_execution()  # does nothing on TensorFlow 1, where a graph is the default

start = [
    np.array([[0, 0.25], [0.2, 0.3]], np.float32),
    np.array([0.35, 0.35], np.float32),
    np.array([[0.4, 0.5], [0.45, 0.55]], np.float32),
    np.array([0.6, 0.6], np.float32),
]
names = ["hidden/kernel", "hidden/bias", "output/kernel", "output/bias"]
variables = [tf.get_variable(name, initializer=value) for name, value in zip(names, start)]

features = tf.placeholder(tf.float32, [None, 2])
labels = tf.placeholder(tf.float32, [None, 2])
hidden = tf.sigmoid(tf.matmul(features, variables[0]) + variables[1])
output = tf.sigmoid(tf.matmul(hidden, variables[2]) + variables[3])
loss = tf.losses.mean_squared_error(labels=labels, predictions=output)

optimizer = tf.train.GradientDescentOptimizer(learning_rate=0.01)
global_step = tf.train.get_or_create_global_step()

frozen = fc.freeze(variables, {"hidden/kernel": (0, 0)}, optimizer=optimizer)
train_op = optimizer.minimize(loss, global_step=global_step)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    feed = {features: [[0.05, 0.10]], labels: [[0.01, 0.99]]}
    for epoch in range(10):
        loss_value, _ = session.run([loss, train_op], feed)
        print("Epoch {}, Loss: {:.4f}".format(epoch + 1, loss_value))

    trained = session.run(variables)
    print("First kernel after training:\n", trained[0])

    moved = [(new != old).tolist() for new, old in zip(trained, start)]
    assert trained[0][0, 0] == 0.0
    assert moved == [[[False, True], [True, True]], [True, True], [[True, True], [True, True]], [True, True]]
    assert session.run(global_step) == 10
    frozen.verify(session)
