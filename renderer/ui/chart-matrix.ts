/** The matrix chart (heatmaps up to 2,000 cells): import this beside `chart.tsx` where it is used. */
import { MatrixController, MatrixElement } from 'chartjs-chart-matrix';
import { Chart } from './chart-core.ts';

Chart.register(MatrixController, MatrixElement);
